// Who holds what of a finished trial: shards of one tensor over all ranks, and what is missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot/shard.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

// What a step has of every parameter.
enum class TensorKind { kGradient, kClippedGradient, kParameter, kMaster, kExpAvg, kExpAvgSq };
std::string_view name_of(TensorKind kind);

// Those that a step of the recipe has, gradients first and what follows from them after; none of a
// run without backward passes.
std::vector<TensorKind> kinds_of(const Recipe& recipe);
// Whether parameters are rounded from masters, instead of being their own.
bool has_masters(const Recipe& recipe);

const std::vector<Shard>& shards_of(const StepResult& step, TensorKind kind);

struct TensorId {
  TensorKind kind = TensorKind::kGradient;
  std::size_t step = 0;
  std::size_t index = 0;  // in the oracle's list
  std::string_view name;
};

// By rank; a rank that lacks the tensor or the step is left out.
std::vector<RankShard> shards_of(const TrialResult& trial, const TensorId& id);

// Why checks of what backward passes and updates leave behind do not apply to a run without them.
inline constexpr const char* kForwardOnlyReason =
    "a forward_only run has no gradients and updates nothing";

// Ranks that should hold each tensor, or some part of it.
std::int64_t num_holders(const Case& c);

// The shard of that name, looked for at `index` first; null where there is none.
const Shard* find_shard(const std::vector<Shard>& shards, std::size_t index, std::string_view name);

// The global micro-batch g of a step, looked for at `index` first; null where it is not there.
const MicroBatchLoss* find_micro_batch(const StepResult& step, std::size_t index, std::int64_t g);

// What the list lacks of the tensors, has twice or has and should not; empty where it fits.
std::string misfit_of_list(const std::vector<Shard>& shards,
                           const std::vector<OracleTensor>& tensors);

// The first thing that the trial should have of that kind and lacks, or has and should not; empty
// where its ranks, steps and tensors are the oracle's.
std::string misfit_of(const TrialResult& trial, const MeasuredOracle& oracle, TensorKind kind);

// The same for ranks and steps alone, and for how near values must be.
std::string steps_misfit_of(const TrialResult& trial, const MeasuredOracle& oracle);

// "name" at the first step, "name (step 1)" later: steps count from 0.
std::string at_step(std::string_view name, std::size_t step);

}  // namespace lockstep::sim
