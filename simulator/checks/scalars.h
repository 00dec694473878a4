// Numbers that ranks report, held against the reference and against each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulator/checks/hint.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {

// |difference| / max(|reference|, 1e-3), and / |reference|; 0 where the difference is 0.
double loss_error(double value, double reference);
double norm_error(double value, double reference);
// |difference|.
double count_error(double value, double reference);

struct RankValue {
  std::vector<Rank> ranks;  // that report it, or make it up together
  double value = 0.0;
};

struct Scalar {
  std::string name;  // "micro-batch 3"
  std::size_t step = 0;
  double reference = 0.0;
  double bound = 0.0;
  double (*error)(double value, double reference) = norm_error;
};

// One comparison a value: the error of each is within the bound.
void compare_with_reference(const Scalar& scalar,
                            std::span<const RankValue> values,
                            std::span<const NamedSize> sizes,
                            Tally& tally);

// One comparison a value but the first: bits are the same on all ranks.
void compare_across_ranks(const Scalar& scalar, std::span<const RankValue> values, Tally& tally);

}  // namespace lockstep::sim
