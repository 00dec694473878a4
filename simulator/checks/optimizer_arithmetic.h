// The optimizers' formulas in plain float64 (semantics, section 8.6): shared by the reference and
// the update check, and by nothing of the core.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/config/case.h"

namespace lockstep::sim {

// One tensor's state, all of equal size; the moments are empty for sgd.
struct OptimizedTensor {
  std::span<const double> gradient;  // clipped
  std::span<double> master;
  std::span<double> exp_avg;
  std::span<double> exp_avg_sq;
};

// Weight decay is decided by the full shape: none for tensors of one dim.
double weight_decay_of(const Recipe& recipe, const std::vector<std::int64_t>& full_shape);

// Updates in place; `step` counts updates from 1.
void optimize(const Recipe& recipe,
              double weight_decay,
              std::int64_t step,
              const OptimizedTensor& tensor);

}  // namespace lockstep::sim
