// One rank holds everything: its shards are the full tensors, padding aside.
#include "matrix/sweep/single_device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/snapshot/assemble.h"
#include "matrix/reference/reference.h"
#include "matrix/sweep/own_steps.h"

namespace lockstep::matrix {
namespace {

using Tensors = std::vector<sim::OracleTensor>;

sim::OracleTensor difference(const Shard& shard, const sim::OracleTensor& reference) {
  const std::array held = {RankShard{.rank = Rank{0}, .shard = &shard}};
  Assembly assembly = assemble(held);
  LOCKSTEP_CHECK(assembly.problem.empty(), shard.name + ": " + assembly.problem);
  LOCKSTEP_CHECK(shard.name == reference.name && shard.full_shape == reference.shape,
                 "the single-device run has " + shard.name + " for " + reference.name);
  for (std::size_t i = 0; i < reference.values.size(); ++i) {
    assembly.values[i] -= reference.values[i];
  }
  return {.name = shard.name, .shape = shard.full_shape, .values = std::move(assembly.values)};
}

Tensors differences(const std::vector<Shard>& shards, const Tensors& reference) {
  LOCKSTEP_CHECK(shards.size() == reference.size(),
                 "the single-device run and the reference have other tensors");
  Tensors result;
  result.reserve(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    result.push_back(difference(shards[i], reference[i]));
  }
  return result;
}

// A single dp rank runs all micro-batches, in their global order.
sim::OracleStep difference(const StepResult& result, const sim::OracleStep& reference) {
  LOCKSTEP_CHECK(result.losses.size() == reference.micro_batch_losses.size(),
                 "the single-device run has another number of micro-batches than the reference");
  sim::OracleStep step;
  for (std::size_t g = 0; g < result.losses.size(); ++g) {
    const MicroBatchLoss& loss = result.losses[g];
    LOCKSTEP_CHECK(loss.global_micro_batch == static_cast<std::int64_t>(g),
                   "a single device ran micro-batch " + std::to_string(loss.global_micro_batch) +
                       " out of order");
    const auto targets = static_cast<double>(std::max<std::int64_t>(loss.targets, 1));
    step.micro_batch_losses.push_back(loss.loss_sum / targets - reference.micro_batch_losses[g]);
    step.activations.push_back(differences(loss.activations, reference.activations[g]));
  }
  step.loss = result.loss - reference.loss;
  step.gradients = differences(result.gradients, reference.gradients);
  step.clipped_gradients = differences(result.clipped_gradients, reference.clipped_gradients);
  step.gradient_norm = result.gradient_norm - reference.gradient_norm;
  return step;
}

}  // namespace

std::vector<sim::OracleStep> differences(const sim::TrialResult& trial,
                                         const std::vector<sim::OracleStep>& reference) {
  LOCKSTEP_CHECK(trial.ranks.size() == 1, "a single device is one rank");
  const std::vector<StepResult>& results = trial.ranks.front().steps;
  LOCKSTEP_CHECK(results.size() == reference.size(),
                 "the single-device run has another number of steps than the reference");
  std::vector<sim::OracleStep> steps;
  for (std::size_t step = 0; step < results.size(); ++step) {
    steps.push_back(difference(results[step], reference[step]));
  }
  return steps;
}

namespace {

// A run's rounding is one draw, and where little is averaged, as where a single token has a target,
// it may be small by luck. With the epsilon of its norms moved by a hundredth, the same model on
// the same data rounds anew everywhere: as good a draw. Of eight, a number that is a normal draw
// itself is more than eight times their root mean square once in 20,000 (Student's t).
constexpr int kNumDraws = 8;
constexpr double kEpsilonMove = 0.01;

std::vector<sim::OracleStep> one_draw(const Case& c, const sim::Oracle& reference) {
  const sim::TrialResult trial = sim::run_trial(c, {});
  const std::optional<std::string> reason = sim::why_unfinished(trial.cluster);
  LOCKSTEP_CHECK(!reason.has_value(), "the single-device run did not finish: " + *reason);
  sim::Oracle own = reference;
  own.steps[0] = compute_reference_step(c, 0, reference.initial_parameters);
  return matrix::differences(trial, steps_from_own_masters(c, trial, own));
}

// Calls f with each pair of numbers at the same place of two steps.
template <typename Function>
void for_each_pair(sim::OracleStep& a, const sim::OracleStep& b, const Function& f) {
  const auto tensors = [&f](Tensors& to, const Tensors& from) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      for (std::size_t j = 0; j < to[i].values.size(); ++j) f(to[i].values[j], from[i].values[j]);
    }
  };
  for (std::size_t g = 0; g < a.micro_batch_losses.size(); ++g) {
    f(a.micro_batch_losses[g], b.micro_batch_losses[g]);
    tensors(a.activations[g], b.activations[g]);
  }
  f(a.loss, b.loss);
  f(a.gradient_norm, b.gradient_norm);
  tensors(a.gradients, b.gradients);
  tensors(a.clipped_gradients, b.clipped_gradients);
}

// Each number of `to` becomes f of itself and of `from`'s.
template <typename Function>
void combine(std::vector<sim::OracleStep>& to,
             const std::vector<sim::OracleStep>& from,
             const Function& f) {
  for (std::size_t step = 0; step < to.size(); ++step) for_each_pair(to[step], from[step], f);
}

}  // namespace

SingleDeviceDifferences single_device_differences(const Case& c, const sim::Oracle& reference) {
  SingleDeviceDifferences differences;
  auto& [usual, mean] = differences;
  for (int draw_number = 0; draw_number < kNumDraws; ++draw_number) {
    Case moved = on_single_device(c);
    moved.model.norm_eps += kEpsilonMove * draw_number;
    const std::vector<sim::OracleStep> draw = one_draw(moved, reference);
    if (draw_number == 0) {
      usual = mean = draw;
      combine(usual, draw, [](double& sum, double) { sum = 0.0; });
      combine(mean, draw, [](double& sum, double) { sum = 0.0; });
    }
    combine(usual, draw, [](double& sum, double x) { sum += x * x / kNumDraws; });
    combine(mean, draw, [](double& sum, double x) { sum += x / kNumDraws; });
  }
  combine(usual, mean, [](double& sum, double) { sum = std::sqrt(sum); });
  return differences;
}

}  // namespace lockstep::matrix
