// Runs a function on every rank of a small cluster over Gloo: ranks are threads of this process,
// each with its own line to a coordinator.
#pragma once

#include <chrono>
#include <functional>

#include "tests/support/coordinated_ranks.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

struct GlooRanksOptions {
  std::chrono::milliseconds stall{20000};    // of the coordinator: nothing happens for so long
  std::chrono::milliseconds timeout{20000};  // of a transfer that does not move
  int num_trials = 1;                        // see CoordinatedOptions
  bool past_findings = false;
};

// Never throws for what a rank does.
backends::TrialOutcome run_gloo_ranks(const Layout& layout,
                                      const std::function<void(TestRank&)>& program,
                                      const GlooRanksOptions& options = {});
// tp ranks, no other axis.
backends::TrialOutcome run_gloo_ranks(int tp,
                                      const std::function<void(TestRank&)>& program,
                                      const GlooRanksOptions& options = {});

}  // namespace lockstep::test
