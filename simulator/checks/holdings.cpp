// Looks tensors up by position first: ranks list them in the oracle's order.
#include "simulator/checks/holdings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/errors.h"

namespace lockstep::sim {
namespace {

// A list that the recipe says is not there.
std::string surplus_of(const TrialResult& trial, TensorKind kind) {
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    const std::vector<StepResult>& steps = trial.ranks[rank].steps;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const std::vector<Shard>& shards = shards_of(steps[step], kind);
      if (shards.empty()) continue;
      return fmt::format("rank {} holds {} as {}, of which this recipe has none",
                         rank,
                         at_step(shards.front().name, step),
                         name_of(kind));
    }
  }
  return "";
}

// Checks of gradients and updates do not apply to an evaluation: those that do see to it.
std::string surplus_of_evaluation(const TrialResult& trial) {
  for (const TensorKind kind : {TensorKind::kGradient,
                                TensorKind::kClippedGradient,
                                TensorKind::kParameter,
                                TensorKind::kMaster,
                                TensorKind::kExpAvg,
                                TensorKind::kExpAvgSq}) {
    std::string surplus = surplus_of(trial, kind);
    if (!surplus.empty()) return surplus;
  }
  return "";
}

}  // namespace

std::string_view name_of(TensorKind kind) {
  switch (kind) {
    case TensorKind::kGradient:
      return "gradient";
    case TensorKind::kClippedGradient:
      return "clipped gradient";
    case TensorKind::kParameter:
      return "parameter";
    case TensorKind::kMaster:
      return "master";
    case TensorKind::kExpAvg:
      return "exp_avg";
    case TensorKind::kExpAvgSq:
      return "exp_avg_sq";
  }
  throw InternalError("unknown kind of tensor");
}

bool has_masters(const Recipe& recipe) { return recipe.dtype == Precision::kBF16; }

std::vector<TensorKind> kinds_of(const Recipe& recipe) {
  if (recipe.forward_only) return {};
  std::vector<TensorKind> kinds = {TensorKind::kGradient};
  if (recipe.clip > 0.0) kinds.push_back(TensorKind::kClippedGradient);
  if (recipe.optimizer == Optimizer::kAdamW) {
    kinds.push_back(TensorKind::kExpAvg);
    kinds.push_back(TensorKind::kExpAvgSq);
  }
  if (has_masters(recipe)) kinds.push_back(TensorKind::kMaster);
  kinds.push_back(TensorKind::kParameter);
  return kinds;
}

const std::vector<Shard>& shards_of(const StepResult& step, TensorKind kind) {
  switch (kind) {
    case TensorKind::kGradient:
      return step.gradients;
    case TensorKind::kClippedGradient:
      return step.clipped_gradients;
    case TensorKind::kParameter:
      return step.parameters;
    case TensorKind::kMaster:
      return step.masters;
    case TensorKind::kExpAvg:
      return step.exp_avg;
    case TensorKind::kExpAvgSq:
      return step.exp_avg_sq;
  }
  throw InternalError("unknown kind of tensor");
}

const Shard* find_shard(const std::vector<Shard>& shards,
                        std::size_t index,
                        std::string_view name) {
  if (index < shards.size() && shards[index].name == name) return &shards[index];
  const auto found = std::find_if(
      shards.begin(), shards.end(), [&](const Shard& shard) { return shard.name == name; });
  return found == shards.end() ? nullptr : &*found;
}

const MicroBatchLoss* find_micro_batch(const StepResult& step, std::size_t index, std::int64_t g) {
  const std::vector<MicroBatchLoss>& losses = step.losses;
  if (index < losses.size() && losses[index].global_micro_batch == g) return &losses[index];
  const auto found = std::find_if(losses.begin(), losses.end(), [&](const MicroBatchLoss& loss) {
    return loss.global_micro_batch == g;
  });
  return found == losses.end() ? nullptr : &*found;
}

std::vector<RankShard> shards_of(const TrialResult& trial, const TensorId& id) {
  std::vector<RankShard> held;
  held.reserve(trial.ranks.size());
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    const std::vector<StepResult>& steps = trial.ranks[rank].steps;
    if (id.step >= steps.size()) continue;
    const Shard* shard = find_shard(shards_of(steps[id.step], id.kind), id.index, id.name);
    if (shard != nullptr) held.push_back({.rank = Rank{static_cast<int>(rank)}, .shard = shard});
  }
  return held;
}

// Every stage of a pipeline holds its own layers; without stages, all ranks hold each tensor.
std::int64_t num_holders(const Case& c) { return world_size(c.layout) / c.layout.pp; }

namespace {

// Of clean single-device runs of decoders of two layers, the tensor that was the furthest off was
// so by 16.4 epsilons in bf16 and 14.8 in f32, over 240 steps under every mask, scatter counted
// whole.
constexpr double kSingleDeviceUlps = 64.0;

double epsilon_of(Precision precision) {
  switch (precision) {
    case Precision::kF64:
      return std::numeric_limits<double>::epsilon();
    case Precision::kF32:
      return std::numeric_limits<float>::epsilon();
    case Precision::kBF16:
      return 1.0 / 256.0;
  }
  throw InternalError("unknown precision");
}

}  // namespace

std::string steps_misfit_of(const TrialResult& trial, const MeasuredOracle& oracle) {
  const std::int64_t world = world_size(trial.c.layout);
  if (static_cast<std::int64_t>(trial.ranks.size()) != world) {
    return fmt::format("the trial has {} ranks, its layout {}", trial.ranks.size(), world);
  }
  const auto steps = static_cast<std::size_t>(trial.c.recipe.steps);
  if (oracle.steps().size() != steps) {
    return fmt::format("the reference has {} steps, the case {}", oracle.steps().size(), steps);
  }
  const bool is_f64 = trial.c.recipe.dtype == Precision::kF64;
  if (is_f64 == oracle.is_held_against_single_device()) {
    return is_f64 ? "a single-device run is no measure in f64"
                  : "there is no single-device run to hold a precision below f64 against";
  }
  const SingleDeviceError& off = oracle.single_device_error();
  const double bound = kSingleDeviceUlps * epsilon_of(trial.c.recipe.dtype);
  if (!(off.error <= bound)) {
    return fmt::format(
        "a single device is itself off by {:.3g} of {}, and rounding explains {:.3g} at most",
        off.error,
        off.where,
        bound);
  }
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    const std::size_t done = trial.ranks[rank].steps.size();
    if (done != steps) return fmt::format("rank {} finished {} of {} steps", rank, done, steps);
  }
  return trial.c.recipe.forward_only ? surplus_of_evaluation(trial) : "";
}

std::string misfit_of_list(const std::vector<Shard>& shards,
                           const std::vector<OracleTensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (find_shard(shards, i, tensors[i].name) == nullptr) return "lacks " + tensors[i].name;
  }
  if (shards.size() == tensors.size()) return "";
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto same_name = [&](const auto& other) { return other.name == shards[i].name; };
    const auto earlier = shards.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(shards.begin(), earlier, same_name) != earlier) {
      return fmt::format("holds {} twice", shards[i].name);
    }
    if (std::none_of(tensors.begin(), tensors.end(), same_name)) {
      return fmt::format("holds {}, which the model does not have", shards[i].name);
    }
  }
  return "";
}

std::string misfit_of(const TrialResult& trial, const MeasuredOracle& oracle, TensorKind kind) {
  const std::string misfit = steps_misfit_of(trial, oracle);
  if (!misfit.empty()) return misfit;
  const std::vector<TensorKind> kinds = kinds_of(trial.c.recipe);
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return surplus_of(trial, kind);
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    for (std::size_t step = 0; step < oracle.steps().size(); ++step) {
      const std::string problem = misfit_of_list(shards_of(trial.ranks[rank].steps[step], kind),
                                                 oracle.steps()[step].parameters);
      if (!problem.empty()) return fmt::format("rank {} {}", rank, at_step(problem, step));
    }
  }
  return "";
}

std::string at_step(std::string_view name, std::size_t step) {
  return step == 0 ? std::string(name) : fmt::format("{} (step {})", name, step);
}

}  // namespace lockstep::sim
