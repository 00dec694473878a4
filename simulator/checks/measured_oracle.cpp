// Measures tensor by tensor, and numbers by the single-device rule for numbers.
#include "simulator/checks/measured_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/errors.h"
#include "simulator/checks/scalars.h"
#include "simulator/checks/tally.h"

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

// A micro-batch's loss is one number, and may be right by luck: it counts as at least as far off as
// its logits, the last activation, are in the root mean square. What moves each logit by about that
// much moves the loss of a token by about as much. 0 where no token has a loss.
double usual_loss_difference(const OracleStep& single_device,
                             const OracleStep& reference,
                             std::size_t micro_batch) {
  const std::vector<OracleTensor>& activations = single_device.activations[micro_batch];
  if (reference.targets[micro_batch] == 0 || activations.empty()) return 0.0;
  const auto count = static_cast<double>(activations.back().values.size());
  return norm_of(activations.back().values) / std::sqrt(count);
}

// Of losses by micro-batch, or of differences of them: each weighs as much as it has targets.
double weighted_mean(const std::vector<double>& by_micro_batch,
                     const std::vector<std::int64_t>& targets) {
  double sum = 0.0;
  std::int64_t num_targets = 0;
  for (std::size_t g = 0; g < by_micro_batch.size(); ++g) {
    sum += by_micro_batch[g] * static_cast<double>(std::max<std::int64_t>(targets[g], 1));
    num_targets += targets[g];
  }
  return sum / static_cast<double>(std::max<std::int64_t>(num_targets, 1));
}

double loss_bound(double difference, double reference) {
  return kSingleDeviceFactor * loss_error(reference + difference, reference);
}

void bound_losses(const OracleStep& reference,
                  const OracleStep& single_device,
                  StepMeasures& measures) {
  const std::size_t num_micro = reference.micro_batch_losses.size();
  require_as_many(single_device.micro_batch_losses.size(), num_micro, "micro-batch losses");
  double largest_usual = 0.0;
  for (std::size_t g = 0; g < num_micro; ++g) {
    const double usual = usual_loss_difference(single_device, reference, g);
    largest_usual = std::max(largest_usual, usual);
    measures.micro_batch_loss_bounds[g] =
        loss_bound(std::max(usual, std::abs(single_device.micro_batch_losses[g])),
                   reference.micro_batch_losses[g]);
  }
  measures.loss_bound =
      loss_bound(std::max(largest_usual, std::abs(single_device.loss)), reference.loss);
  const double reported = weighted_mean(single_device.micro_batch_losses, reference.targets);
  measures.reported_loss_bound =
      loss_bound(std::max(largest_usual, std::abs(reported)), reported_loss(reference));
}

// A norm moves by no more than the norm of what its tensors move by; its own difference is one
// number, which may be small by luck.
void bound_norms(const OracleStep& reference,
                 const OracleStep& single_device,
                 StepMeasures& measures) {
  const double difference =
      std::max(std::abs(single_device.gradient_norm), norm_of_all(single_device.gradients));
  measures.gradient_norm_bound =
      kSingleDeviceFactor *
      norm_error(reference.gradient_norm + difference, reference.gradient_norm);
}

// Of eight draws that have nothing in common the mean is a third of the root mean square, and more
// than this part of it once in a hundred even where it is but one number.
constexpr double kAlike = 0.8;
constexpr double kScatterWeight = 1.0 / 8.0;

void raise_error(const std::vector<OracleTensor>& usual,
                 const std::vector<OracleTensor>& mean,
                 const std::vector<OracleTensor>& reference,
                 SingleDeviceError& worst) {
  const double floor = 0.01 * norm_of_all(reference);
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const double scatter = norm_of(usual[i].values);
    const double alike = norm_of(mean[i].values);
    const double distance = alike <= kAlike * scatter ? kScatterWeight * scatter : alike;
    const double error =
        distance == 0.0 ? 0.0 : distance / std::max(norm_of(reference[i].values), floor);
    if (is_worse(error, worst.error)) worst = {.error = error, .where = usual[i].name};
  }
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
      .parameters = measures_of(reference.parameters, nullptr, "parameters"),
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

double reported_loss(const OracleStep& step) {
  return weighted_mean(step.micro_batch_losses, step.targets);
}

MeasuredOracle::MeasuredOracle(Oracle oracle)
    : oracle_(std::move(oracle)), is_held_against_single_device_(!oracle_.single_device.empty()) {
  const std::vector<OracleStep> single_device = std::exchange(oracle_.single_device, {});
  const std::vector<OracleStep> mean = std::exchange(oracle_.single_device_mean, {});
  if (is_held_against_single_device_) {
    require_as_many(single_device.size(), oracle_.steps.size(), "steps");
    require_as_many(mean.size(), oracle_.steps.size(), "steps of its mean");
  }
  for (std::size_t step = 0; step < oracle_.steps.size(); ++step) {
    const OracleStep& reference = oracle_.steps[step];
    if (!is_held_against_single_device_) {
      measures_.push_back(measures_of(reference, nullptr));
      continue;
    }
    measures_.push_back(measures_of(reference, &single_device[step]));
    raise_error(single_device[step].gradients,
                mean[step].gradients,
                reference.gradients,
                single_device_error_);
    for (std::size_t g = 0; g < reference.activations.size(); ++g) {
      raise_error(single_device[step].activations[g],
                  mean[step].activations[g],
                  reference.activations[g],
                  single_device_error_);
    }
  }
}

}  // namespace lockstep::sim
