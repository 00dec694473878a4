// How near is equal: relative errors by blocks of 32 elements of the flattened full tensor.
//
// error = ‖difference‖ / max(‖block‖, 1e-3 ‖tensor‖, 1e-6 ‖all tensors‖), 0 where the
// difference is 0; norms are the reference's. "All tensors" are those of the same step and kind:
// all gradients where gradients are compared, all parameters where parameters are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/config/case.h"
#include "core/snapshot/shard.h"
#include "simulator/checks/oracle.h"

namespace lockstep::sim {

inline constexpr std::int64_t kBlockElements = 32;
inline constexpr double kBoundF64 = 1e-10;

// None for a precision that is held against a single-device run instead.
std::optional<double> bound_of(Precision precision);

// Over the elements of all of them together.
double norm_of_all(const std::vector<OracleTensor>& tensors);

// |value - reference| by element of the full tensor, NaN where the value is; 0 where the shard,
// which must be without problem, holds nothing.
std::vector<double> deviations_of(const Shard& shard, const OracleTensor& reference);

struct BlockError {
  double error = 0.0;
  std::int64_t block = 0;
};

// The reference of one tensor, ready to measure deviations from it.
class BlockMeasure {
 public:
  BlockMeasure(const OracleTensor& reference, double norm_of_all_tensors);

  // `deviations`: as deviations_of gives them, or the largest of several holders.
  BlockError worst(std::span<const double> deviations) const;

 private:
  std::vector<double> denominators_;  // by block
};

}  // namespace lockstep::sim
