// One rank holds everything: its shards are the full tensors, padding aside.
#include "matrix/sweep/single_device.h"

#include <array>
#include <optional>

#include "core/base/errors.h"
#include "core/snapshot/assemble.h"

namespace lockstep::matrix {
namespace {

sim::OracleTensor tensor_of(const Shard& shard) {
  const std::array held = {RankShard{.rank = Rank{0}, .shard = &shard}};
  Assembly assembly = assemble(held);
  LOCKSTEP_CHECK(assembly.problem.empty(), shard.name + ": " + assembly.problem);
  return {.name = shard.name, .shape = shard.full_shape, .values = std::move(assembly.values)};
}

std::vector<sim::OracleTensor> tensors_of(const std::vector<Shard>& shards) {
  std::vector<sim::OracleTensor> tensors;
  tensors.reserve(shards.size());
  for (const Shard& shard : shards) tensors.push_back(tensor_of(shard));
  return tensors;
}

// A single dp rank runs all micro-batches, in their global order.
sim::OracleStep step_of(const StepResult& result) {
  sim::OracleStep step;
  for (const MicroBatchLoss& loss : result.losses) {
    LOCKSTEP_CHECK(
        loss.global_micro_batch == static_cast<std::int64_t>(step.micro_batch_losses.size()),
        "a single device ran micro-batch " + std::to_string(loss.global_micro_batch) +
            " out of order");
    step.micro_batch_losses.push_back(loss.loss);
    step.targets.push_back(loss.targets);
    step.activations.push_back(tensors_of(loss.activations));
  }
  step.loss = result.loss;
  step.gradients = tensors_of(result.gradients);
  step.clipped_gradients = tensors_of(result.clipped_gradients);
  step.gradient_norm = result.gradient_norm;
  // Where parameters are rounded from masters, masters are what the reference updates.
  step.parameters = tensors_of(result.masters.empty() ? result.parameters : result.masters);
  step.parameter_norm = result.parameter_norm;
  return step;
}

}  // namespace

Case on_single_device(const Case& c) {
  Case single = c;
  const Case plain = default_case();
  single.layout = plain.layout;
  single.defects.clear();
  // All that a reference does not depend on.
  single.recipe.schedule = plain.recipe.schedule;
  single.recipe.step_api = StepApi::kFused;
  single.recipe.recompute = plain.recipe.recompute;
  single.recipe.overlap.clear();
  single.recipe.bucket_elements = plain.recipe.bucket_elements;
  single.recipe.reduction_order = plain.recipe.reduction_order;
  single.recipe.completion = plain.recipe.completion;
  single.recipe.schedule_seed = plain.recipe.schedule_seed;
  return single;
}

std::vector<sim::OracleStep> oracle_steps_of(const sim::TrialResult& trial) {
  LOCKSTEP_CHECK(trial.ranks.size() == 1, "a single device is one rank");
  std::vector<sim::OracleStep> steps;
  for (const StepResult& step : trial.ranks.front().steps) steps.push_back(step_of(step));
  return steps;
}

std::vector<sim::OracleStep> run_on_single_device(const Case& c) {
  const sim::TrialResult trial = sim::run_trial(on_single_device(c), {});
  const std::optional<std::string> reason = sim::why_unfinished(trial.cluster);
  LOCKSTEP_CHECK(!reason.has_value(), "the single-device run did not finish: " + *reason);
  return oracle_steps_of(trial);
}

}  // namespace lockstep::matrix
