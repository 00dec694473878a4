// Measures tensor by tensor, and numbers by the single-device rule for numbers.
#include "simulator/checks/measured_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "simulator/checks/scalars.h"

namespace lockstep::sim {
namespace {

void require_as_many(std::size_t got, std::size_t expected, std::string_view what) {
  LOCKSTEP_CHECK(
      got == expected,
      fmt::format("the single-device run has {} {}, the reference {}", got, what, expected));
}

// `single_device`: null in f64.
std::vector<BlockMeasure> measures_of(const std::vector<OracleTensor>& reference,
                                      const std::vector<OracleTensor>* single_device,
                                      std::string_view what) {
  if (single_device != nullptr) require_as_many(single_device->size(), reference.size(), what);
  const double norm = norm_of_all(reference);
  std::vector<BlockMeasure> measures;
  measures.reserve(reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (single_device == nullptr) {
      measures.emplace_back(reference[i], norm);
    } else {
      measures.emplace_back(reference[i], norm, (*single_device)[i]);
    }
  }
  return measures;
}

// Over the elements of all tensors together.
double norm_of_differences(const std::vector<OracleTensor>& a, const std::vector<OracleTensor>& b) {
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].values.size(); ++j) {
      const double difference = a[i].values[j] - b[i].values[j];
      squares += difference * difference;
    }
  }
  return std::sqrt(squares);
}

// How far a micro-batch's loss usually is off: as far as its logits, which are the last activation.
// What moves each logit by about that much moves the loss of a token by about as much.
double usual_loss_difference(const std::vector<OracleTensor>& reference,
                             const std::vector<OracleTensor>& single_device) {
  if (reference.empty() || reference.back().values.empty()) return 0.0;
  const auto count = static_cast<double>(reference.back().values.size());
  return norm_of_differences({single_device.back()}, {reference.back()}) / std::sqrt(count);
}

// A loss is one number, and with few targets all losses of a step may be right by luck: its error
// counts as at least the RMS of the step's losses, and as what its logits, which are many, say.
void bound_losses(const OracleStep& reference,
                  const OracleStep& single_device,
                  StepMeasures& measures) {
  const std::size_t num_micro = reference.micro_batch_losses.size();
  require_as_many(single_device.micro_batch_losses.size(), num_micro, "micro-batch losses");
  std::vector<double> errors;
  for (std::size_t g = 0; g < num_micro; ++g) {
    errors.push_back(
        loss_error(single_device.micro_batch_losses[g], reference.micro_batch_losses[g]));
  }
  errors.push_back(loss_error(single_device.loss, reference.loss));
  const double usual_error = root_mean_square(errors);
  for (double& error : errors) error = std::max(error, usual_error);
  const auto raise = [](double& error, double right, double usual) {
    error = std::max(error, loss_error(right + usual, right));
  };
  for (std::size_t g = 0; g < std::min(reference.activations.size(), num_micro); ++g) {
    // Without targets the loss is 0 whatever the logits are.
    if (reference.targets[g] == 0) continue;
    const double usual =
        usual_loss_difference(reference.activations[g], single_device.activations[g]);
    raise(errors[g], reference.micro_batch_losses[g], usual);
    raise(errors.back(), reference.loss, usual);
  }
  for (std::size_t g = 0; g < num_micro; ++g) {
    measures.micro_batch_loss_bounds[g] = kSingleDeviceFactor * errors[g];
  }
  measures.loss_bound = kSingleDeviceFactor * errors.back();
}

// A norm moves by no more than the norm of what its tensors move by. Its own error in the
// single-device run is one number, which may be small by luck.
double norm_bound(double norm, double reference, double difference) {
  const double floor = difference == 0.0 ? 0.0 : difference / reference;
  return kSingleDeviceFactor * std::max(norm_error(norm, reference), floor);
}

void bound_norms(const OracleStep& reference,
                 const OracleStep& single_device,
                 StepMeasures& measures) {
  measures.gradient_norm_bound =
      norm_bound(single_device.gradient_norm,
                 reference.gradient_norm,
                 norm_of_differences(single_device.gradients, reference.gradients));
  measures.parameter_norm_bound =
      norm_bound(single_device.parameter_norm,
                 reference.parameter_norm,
                 norm_of_differences(single_device.parameters, reference.parameters));
}

StepMeasures measures_of(const OracleStep& reference, const OracleStep* single_device) {
  const auto of = [&](std::vector<OracleTensor> OracleStep::*tensors, std::string_view what) {
    return measures_of(
        reference.*tensors, single_device == nullptr ? nullptr : &(single_device->*tensors), what);
  };
  StepMeasures measures{
      .activations = {},
      .gradients = of(&OracleStep::gradients, "gradients"),
      .clipped_gradients = of(&OracleStep::clipped_gradients, "clipped gradients"),
      .parameters = of(&OracleStep::parameters, "parameters"),
      .micro_batch_loss_bounds =
          std::vector<double>(reference.micro_batch_losses.size(), kBoundF64)};
  if (single_device != nullptr) {
    require_as_many(
        single_device->activations.size(), reference.activations.size(), "traced micro-batches");
  }
  for (std::size_t g = 0; g < reference.activations.size(); ++g) {
    measures.activations.push_back(
        measures_of(reference.activations[g],
                    single_device == nullptr ? nullptr : &single_device->activations[g],
                    "activations"));
  }
  if (single_device != nullptr) {
    bound_losses(reference, *single_device, measures);
    bound_norms(reference, *single_device, measures);
  }
  return measures;
}

}  // namespace

MeasuredOracle::MeasuredOracle(Oracle oracle)
    : oracle_(std::move(oracle)), is_held_against_single_device_(!oracle_.single_device.empty()) {
  const std::vector<OracleStep> single_device = std::move(oracle_.single_device);
  oracle_.single_device.clear();
  if (is_held_against_single_device_) {
    require_as_many(single_device.size(), oracle_.steps.size(), "steps");
  }
  for (std::size_t step = 0; step < oracle_.steps.size(); ++step) {
    measures_.push_back(measures_of(
        oracle_.steps[step], is_held_against_single_device_ ? &single_device[step] : nullptr));
  }
}

}  // namespace lockstep::sim
