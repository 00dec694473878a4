// Who holds what of a finished trial: shards of one tensor over all ranks, and what is missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot/assemble.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

enum class TensorKind { kGradient, kParameter };

const std::vector<OracleTensor>& tensors_of(const OracleStep& step, TensorKind kind);

struct TensorId {
  TensorKind kind = TensorKind::kGradient;
  std::size_t step = 0;
  std::size_t index = 0;  // in the oracle's list
  std::string_view name;
};

// By rank; a rank that lacks the tensor or the step is left out.
std::vector<RankShard> shards_of(const TrialResult& trial, const TensorId& id);

// Ranks that should hold each tensor.
std::int64_t num_holders(const Case& c);

// The first thing that the trial should have and lacks, or has and should not; empty where its
// ranks, steps and tensors are the oracle's.
std::string misfit_of(const TrialResult& trial, const Oracle& oracle, TensorKind kind);

// The same for ranks and steps alone.
std::string steps_misfit_of(const TrialResult& trial, const Oracle& oracle);

// "name" at the first step, "name (step 1)" later: steps count from 0.
std::string at_step(std::string_view name, std::size_t step);

}  // namespace lockstep::sim
