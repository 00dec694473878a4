// What the independent reference says a case must compute: the checks' other side.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace lockstep::sim {

struct OracleTensor {
  std::string name;  // Megatron-core's parameter name
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // row-major, full
};

struct OracleStep {
  std::int64_t num_targets() const {
    return std::accumulate(targets.begin(), targets.end(), std::int64_t{0});
  }

  std::vector<double> micro_batch_losses;  // by global micro-batch: loss sum / max(targets, 1)
  std::vector<std::int64_t> targets;       // by global micro-batch
  // The objective: token norm: all loss sums / max(all targets, 1); micro-batch norm: mean of
  // micro_batch_losses.
  double loss = 0.0;
  // By global micro-batch, then in execution order: [tokens, width], where token s of sample b is
  // row s * micro_batch + b.
  std::vector<std::vector<OracleTensor>> activations;
  // In the order of the model's parameter table, as parameters are.
  std::vector<OracleTensor> gradients;
  std::vector<OracleTensor> clipped_gradients;  // none where the recipe does not clip
  double gradient_norm = 0.0;                   // before clipping
  std::vector<OracleTensor> parameters;         // after the update
  double parameter_norm = 0.0;                  // after the update
};

// Below f64 a step starts from where the run itself stood: its own masters before that step, put
// together. What made them is judged by the update check, and AdamW, which turns the last bit of a
// gradient near 0 into a whole step of lr, does not blur what follows.
struct Oracle {
  std::vector<OracleTensor> initial_parameters;
  std::vector<OracleStep> steps;
  // How far a clean run on a single device in the case's own precision is from the reference that
  // starts each step where that run stood: differences of all that an OracleStep holds but targets
  // and parameters. What f32 and bf16 are held against (architecture, section 6); none for f64.
  std::vector<OracleStep> single_device = {};
  // The mean of the same differences over the draws of which those are the root mean square: what a
  // single device gets wrong alike in all of them.
  std::vector<OracleStep> single_device_mean = {};
};

}  // namespace lockstep::sim
