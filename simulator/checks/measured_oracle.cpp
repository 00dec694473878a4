// Measures tensor by tensor, and numbers by the single-device rule for numbers.
#include "simulator/checks/measured_oracle.h"

#include <fmt/format.h>

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
  measures.micro_batch_loss_bounds = single_device_bounds(errors);
  measures.loss_bound = measures.micro_batch_loss_bounds.back();
  measures.micro_batch_loss_bounds.pop_back();
}

void bound_norms(const OracleStep& reference,
                 const OracleStep& single_device,
                 StepMeasures& measures) {
  const double errors[] = {norm_error(single_device.gradient_norm, reference.gradient_norm),
                           norm_error(single_device.parameter_norm, reference.parameter_norm)};
  const std::vector<double> bounds = single_device_bounds(errors);
  measures.gradient_norm_bound = bounds[0];
  measures.parameter_norm_bound = bounds[1];
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
    bound_losses(reference, *single_device, measures);
    bound_norms(reference, *single_device, measures);
  }
  for (std::size_t g = 0; g < reference.activations.size(); ++g) {
    measures.activations.push_back(
        measures_of(reference.activations[g],
                    single_device == nullptr ? nullptr : &single_device->activations[g],
                    "activations"));
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
