// An oracle with all that can be worked out from it before a trial: how near each value must be.
//
// Below f64 the single-device run is needed for that and nothing else, and is dropped then.
#pragma once

#include <vector>

#include "simulator/checks/block_error.h"
#include "simulator/checks/oracle.h"

namespace lockstep::sim {

// Of the tensors and numbers of an OracleStep of the same names, in their order.
struct StepMeasures {
  std::vector<std::vector<BlockMeasure>> activations;
  std::vector<BlockMeasure> gradients;
  std::vector<BlockMeasure> clipped_gradients;
  std::vector<BlockMeasure> parameters;
  std::vector<double> micro_batch_loss_bounds;
  double loss_bound = kBoundF64;
  double gradient_norm_bound = kBoundF64;
  double parameter_norm_bound = kBoundF64;
};

class MeasuredOracle {
 public:
  MeasuredOracle() = default;
  // InternalError where the single-device run has other tensors than the reference.
  explicit MeasuredOracle(Oracle oracle);

  const std::vector<OracleTensor>& initial_parameters() const { return oracle_.initial_parameters; }
  const std::vector<OracleStep>& steps() const { return oracle_.steps; }
  const StepMeasures& measures(std::size_t step) const { return measures_[step]; }
  // Whether bounds are the single-device rule's.
  bool is_held_against_single_device() const { return is_held_against_single_device_; }

 private:
  Oracle oracle_;  // without the single-device run
  std::vector<StepMeasures> measures_;
  bool is_held_against_single_device_ = false;
};

}  // namespace lockstep::sim
