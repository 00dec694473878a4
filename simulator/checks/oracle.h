// What the independent reference says a case must compute: the checks' other side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::sim {

struct OracleTensor {
  std::string name;  // Megatron-core's parameter name
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // row-major, full
};

struct OracleStep {
  std::vector<double> micro_batch_losses;  // by global micro-batch: loss sum / max(targets, 1)
  std::vector<std::int64_t> targets;       // by global micro-batch
  // The objective: token norm: all loss sums / max(all targets, 1); micro-batch norm: mean of
  // micro_batch_losses.
  double loss = 0.0;
  std::vector<OracleTensor> gradients;   // in the order of the model's parameter table
  std::vector<OracleTensor> parameters;  // after the update
};

struct Oracle {
  std::vector<OracleStep> steps;
};

}  // namespace lockstep::sim
