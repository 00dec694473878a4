// The whole model over one global batch: losses, objective, activations and gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/case.h"
#include "matrix/reference/batch.h"
#include "matrix/reference/parameters.h"

namespace lockstep::matrix {

struct BatchResult {
  std::vector<double> micro_batch_losses;                   // loss sum / max(targets, 1)
  double objective = 0.0;                                   // sum of weight * loss over all tokens
  std::vector<std::vector<sim::OracleTensor>> activations;  // as in an OracleStep
  Tensors gradients;                                        // of the objective; none forward only
};

// The batch may be drawn (make_batch) or given; of the case it takes the model, seq, micro_batch,
// label smoothing, dropout with its seed, and whether there is a backward pass.
BatchResult run_batch(const Case& c, const Batch& batch, const Tensors& parameters);

}  // namespace lockstep::matrix
