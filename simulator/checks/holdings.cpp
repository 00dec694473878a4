// Looks tensors up by position first: ranks list them in the oracle's order.
#include "simulator/checks/holdings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep::sim {
namespace {

// The tensors of one kind in a step of a trial or of an oracle: both name them alike.
template <typename Step>
const auto& of_kind(const Step& step, TensorKind kind) {
  switch (kind) {
    case TensorKind::kGradient:
      return step.gradients;
    case TensorKind::kParameter:
      return step.parameters;
  }
  throw InternalError("unknown kind of tensor");
}

const Shard* find_shard(const std::vector<Shard>& shards, const TensorId& id) {
  if (id.index < shards.size() && shards[id.index].name == id.name) return &shards[id.index];
  const auto found = std::find_if(
      shards.begin(), shards.end(), [&](const Shard& shard) { return shard.name == id.name; });
  return found == shards.end() ? nullptr : &*found;
}

std::string misfit_of_rank(int rank,
                           std::size_t step,
                           const std::vector<Shard>& shards,
                           const std::vector<OracleTensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (find_shard(shards, {.index = i, .name = tensors[i].name}) == nullptr) {
      return fmt::format("rank {} lacks {}", rank, at_step(tensors[i].name, step));
    }
  }
  if (shards.size() == tensors.size()) return "";
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto same_name = [&](const auto& other) { return other.name == shards[i].name; };
    const auto earlier = shards.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(shards.begin(), earlier, same_name) != earlier) {
      return fmt::format("rank {} holds {} twice", rank, at_step(shards[i].name, step));
    }
    if (std::none_of(tensors.begin(), tensors.end(), same_name)) {
      return fmt::format(
          "rank {} holds {}, which the model does not have", rank, at_step(shards[i].name, step));
    }
  }
  return "";
}

}  // namespace

const std::vector<OracleTensor>& tensors_of(const OracleStep& step, TensorKind kind) {
  return of_kind(step, kind);
}

std::vector<RankShard> shards_of(const TrialResult& trial, const TensorId& id) {
  std::vector<RankShard> held;
  held.reserve(trial.ranks.size());
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    const std::vector<StepResult>& steps = trial.ranks[rank].steps;
    if (id.step >= steps.size()) continue;
    const Shard* shard = find_shard(of_kind(steps[id.step], id.kind), id);
    if (shard != nullptr) held.push_back({.rank = Rank{static_cast<int>(rank)}, .shard = shard});
  }
  return held;
}

// Every stage of a pipeline holds its own layers; without stages, all ranks hold each tensor.
std::int64_t num_holders(const Case& c) { return world_size(c.layout) / c.layout.pp; }

std::string steps_misfit_of(const TrialResult& trial, const Oracle& oracle) {
  const std::int64_t world = world_size(trial.c.layout);
  if (static_cast<std::int64_t>(trial.ranks.size()) != world) {
    return fmt::format("the trial has {} ranks, its layout {}", trial.ranks.size(), world);
  }
  const auto steps = static_cast<std::size_t>(trial.c.recipe.steps);
  if (oracle.steps.size() != steps) {
    return fmt::format("the reference has {} steps, the case {}", oracle.steps.size(), steps);
  }
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    const std::size_t done = trial.ranks[rank].steps.size();
    if (done != steps) return fmt::format("rank {} finished {} of {} steps", rank, done, steps);
  }
  return "";
}

std::string misfit_of(const TrialResult& trial, const Oracle& oracle, TensorKind kind) {
  std::string misfit = steps_misfit_of(trial, oracle);
  for (std::size_t rank = 0; misfit.empty() && rank < trial.ranks.size(); ++rank) {
    for (std::size_t step = 0; misfit.empty() && step < oracle.steps.size(); ++step) {
      misfit = misfit_of_rank(static_cast<int>(rank),
                              step,
                              of_kind(trial.ranks[rank].steps[step], kind),
                              tensors_of(oracle.steps[step], kind));
    }
  }
  return misfit;
}

std::string at_step(std::string_view name, std::size_t step) {
  return step == 0 ? std::string(name) : fmt::format("{} (step {})", name, step);
}

}  // namespace lockstep::sim
