// The data of a case: weights, tokens and masks, each a pure function of seed and global position.
//
// Core and reference share this file and nothing else; literal values pin it in a test.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/case.h"

namespace lockstep {

// How a parameter starts: weights around 0 with an exact power-of-two factor near sqrt(3 / fan_in),
// norm weights around 1, biases around 0; norm weights and biases never start at exactly 1 or 0.
enum class InitKind { kWeight, kNormWeight, kBias };

// The elements of one full tensor, by index (row-major over the full shape).
class InitialValues {
 public:
  InitialValues(std::int64_t seed, std::string_view name, InitKind kind, std::int64_t fan_in);
  double operator[](std::int64_t index) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  InitKind kind_;
  double weight_factor_;
};

// Token of `position` in [0, seq] of sample `sample` in [0, global_batch) at `step` from 0; the
// label of position p is the token of p + 1.
std::int64_t token(const Case& c, std::int64_t step, std::int64_t sample, std::int64_t position);

// Whether the label of `position` in [0, seq) counts in the loss (architecture, section 5: mask).
bool is_target(const Case& c, std::int64_t step, std::int64_t sample, std::int64_t position);

}  // namespace lockstep
