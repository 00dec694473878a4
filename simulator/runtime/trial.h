// One execution of one case on simulated ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/train/rank_result.h"
#include "simulator/runtime/cluster.h"

namespace lockstep::sim {

struct TrialResult {
  Case c;
  std::vector<RankResult> ranks;  // by rank; a rank that did not finish has fewer steps
  ClusterReport cluster;
  std::string digest;  // of every rank's gradients and parameters after each step
};

// Why the program did not run to its end, none where it did. The tensors of such a trial are
// whatever was there when it stopped.
std::optional<std::string> why_unfinished(const ClusterReport& report);

struct TrialOptions {
  RankHost host = RankHost::kFibers;
  Gpu* gpu = nullptr;  // on which all ranks compute; none: on the CPU
};

// Plans the case, edits its defects into the plans, and runs it. The case must be legal (rules.h).
TrialResult run_trial(const Case& c, const TrialOptions& options);

}  // namespace lockstep::sim
