// The whole model over one global batch: losses, objective and gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/case.h"
#include "matrix/reference/parameters.h"

namespace lockstep::matrix {

struct BatchResult {
  std::vector<double> micro_batch_losses;  // loss sum / max(targets, 1)
  std::vector<std::int64_t> targets;
  double objective = 0.0;
  Tensors gradients;  // of the objective
};

BatchResult run_batch(const Case& c, std::int64_t step, const Tensors& parameters);

}  // namespace lockstep::matrix
