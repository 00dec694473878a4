// How near is equal: relative errors by blocks of 32 elements of the flattened full tensor.
//
// error = ‖difference‖ / max(‖block‖, 1e-3 ‖tensor‖, 1e-6 ‖all tensors‖), 0 where the
// difference is 0; norms are the reference's. "All tensors" are those of the same step and kind:
// all gradients where gradients are compared, all activations of a micro-batch where those are.
// A block holds where error <= its bound: in f64 one number, in lower precision as much as makes
// its distance ‖difference‖ kSingleDeviceFactor times that of the single-device run there, which
// counts as at least the RMS distance of the tensor's blocks: one block alone may be near by luck.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/snapshot/shard.h"
#include "simulator/checks/oracle.h"

namespace lockstep::sim {

inline constexpr std::int64_t kBlockElements = 32;
inline constexpr double kBoundF64 = 1e-10;
inline constexpr double kSingleDeviceFactor = 8.0;

double norm_of(std::span<const double> values);
// Over the elements of all of them together.
double norm_of_all(const std::vector<OracleTensor>& tensors);

// |value - reference| by element of the full tensor, NaN where the value is; 0 where the shard,
// which must be without problem, holds nothing.
std::vector<double> deviations_of(const Shard& shard, const OracleTensor& reference);

struct BlockError {
  double error = 0.0;
  double bound = kBoundF64;
  std::int64_t block = 0;

  // Written so that NaN fails.
  bool holds() const { return error <= bound; }
};

// The reference of one tensor, ready to measure deviations from it.
class BlockMeasure {
 public:
  // With the bound of f64.
  BlockMeasure(const OracleTensor& reference, double norm_of_all_tensors);
  // With bounds from how far the single-device run is off in each element of the tensor.
  BlockMeasure(const OracleTensor& reference,
               double norm_of_all_tensors,
               const OracleTensor& single_device);

  // The block whose error is the most times its bound. `deviations`: as deviations_of gives them,
  // or the largest of several holders.
  BlockError worst(std::span<const double> deviations) const;

 private:
  double error_of(std::span<const double> deviations, std::size_t block) const;

  std::vector<double> denominators_;  // by block
  std::vector<double> bounds_;        // by block
};

// What one tensor of a trial is held against.
struct Yardstick {
  const OracleTensor& reference;
  const BlockMeasure& measure;

  BlockError worst(std::span<const double> deviations) const { return measure.worst(deviations); }
};

}  // namespace lockstep::sim
