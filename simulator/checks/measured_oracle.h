// An oracle with all that can be worked out from it before a trial: how near each value must be.
//
// Below f64 the single-device run is needed for that and nothing else, and is dropped then.
#pragma once

#include <string>
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
  double reported_loss_bound = kBoundF64;
  double gradient_norm_bound = kBoundF64;
  double parameter_norm_bound = kBoundF64;
};

// All loss sums of the step / max(all targets, 1): what a training log shows.
double reported_loss(const OracleStep& step);

// How far the single-device run itself is from the reference beyond the luck of rounding, by
// tensor: ‖difference‖ over the larger of ‖tensor‖ and a hundredth of ‖all tensors‖ of the step and
// kind. What scatters from draw to draw is rounding, which an ill-conditioned model may amplify a
// hundredfold, and counts an eighth; what most of is the same in every draw is none, and counts
// whole.
struct SingleDeviceError {
  double error = 0.0;
  std::string where = {};
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
  // The worst of all tensors: what a single device does wrong, every layout does, and no multiple
  // of its error would show it.
  const SingleDeviceError& single_device_error() const { return single_device_error_; }

 private:
  Oracle oracle_;  // without the single-device run
  std::vector<StepMeasures> measures_;
  bool is_held_against_single_device_ = false;
  SingleDeviceError single_device_error_;
};

}  // namespace lockstep::sim
