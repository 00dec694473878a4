// Refuses what the reference does not model, then trains step by step.
#include "matrix/reference/reference.h"

#include <cmath>
#include <utility>

#include "core/base/errors.h"
#include "matrix/reference/decoder.h"
#include "simulator/checks/optimizer_arithmetic.h"

namespace lockstep::matrix {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw UsageError(std::string("the reference has no ") + what + " yet");
}

// Silence here would let a case be compared with another model.
void check_supported(const Case& c) {
  require(c.model.num_experts == 0, "experts");
  require(c.model.mtp == 0, "multi-token prediction");
}

// sqrt of the sum of all squares
double norm_of(const Tensors& tensors) {
  double squares = 0.0;
  for (const sim::OracleTensor& tensor : tensors) {
    for (const double value : tensor.values) squares += value * value;
  }
  return std::sqrt(squares);
}

// g * min(1, clip / (norm + 1e-6)), bit for bit g where that is no less than 1.
Tensors clipped(Tensors gradients, double norm, double clip) {
  const double coefficient = clip / (norm + 1e-6);
  if (coefficient >= 1.0) return gradients;
  for (sim::OracleTensor& tensor : gradients) {
    for (double& value : tensor.values) value *= coefficient;
  }
  return gradients;
}

// The parameters and what the optimizer remembers of each.
struct Training {
  Tensors parameters;
  Tensors exp_avg;  // of AdamW
  Tensors exp_avg_sq;
};

Training start(const Case& c) {
  Training training{.parameters = initial_parameters(c), .exp_avg = {}, .exp_avg_sq = {}};
  if (c.recipe.optimizer == Optimizer::kAdamW) {
    training.exp_avg = zeros_like(training.parameters);
    training.exp_avg_sq = zeros_like(training.parameters);
  }
  return training;
}

// `step` counts from 1.
void update(const Recipe& recipe, std::int64_t step, const Tensors& gradients, Training& training) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    sim::OracleTensor& parameter = training.parameters[i];
    sim::OptimizedTensor tensor{.gradient = gradients[i].values,
                                .master = parameter.values,
                                .exp_avg = {},
                                .exp_avg_sq = {}};
    if (!training.exp_avg.empty()) {
      tensor.exp_avg = training.exp_avg[i].values;
      tensor.exp_avg_sq = training.exp_avg_sq[i].values;
    }
    sim::optimize(recipe, sim::weight_decay_of(recipe, parameter.shape), step, tensor);
  }
}

}  // namespace

sim::OracleStep compute_reference_step(const Case& c,
                                       std::int64_t number,
                                       const Tensors& parameters) {
  check_supported(c);
  Batch batch = make_batch(c, number);
  BatchResult result = run_batch(c, batch, parameters);
  sim::OracleStep step;
  step.micro_batch_losses = std::move(result.micro_batch_losses);
  step.targets = std::move(batch.targets_G);
  step.loss = result.objective;
  step.activations = std::move(result.activations);
  step.gradients = std::move(result.gradients);
  step.gradient_norm = norm_of(step.gradients);
  if (c.recipe.clip > 0.0) {
    step.clipped_gradients = clipped(step.gradients, step.gradient_norm, c.recipe.clip);
  }
  return step;
}

sim::Oracle compute_reference(const Case& c) {
  Training training = start(c);
  sim::Oracle oracle{.initial_parameters = training.parameters, .steps = {}};
  const bool clips = c.recipe.clip > 0.0;
  for (std::int64_t number = 0; number < c.recipe.steps; ++number) {
    sim::OracleStep step = compute_reference_step(c, number, training.parameters);
    if (!c.recipe.forward_only) {
      update(c.recipe, number + 1, clips ? step.clipped_gradients : step.gradients, training);
      step.parameters = training.parameters;
      step.parameter_norm = norm_of(step.parameters);
    }
    oracle.steps.push_back(std::move(step));
  }
  return oracle;
}

}  // namespace lockstep::matrix
