// Runs a function on every rank of a small cluster over Gloo: ranks are threads of this process,
// each with its own line to a coordinator.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "backends/coordinator/coordinator.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

struct GlooRanksOptions {
  std::chrono::milliseconds stall{20000};    // of the coordinator: nothing happens for so long
  std::chrono::milliseconds timeout{20000};  // of a transfer that does not move
  // Trials over the same processes and connections, one after another; the last one's outcome is
  // given. One with findings is the last, unless `past_findings`: then every rank must have ended
  // by itself.
  int num_trials = 1;
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

// All messages, a blank line between them: for a failed assertion.
std::string to_text(const backends::TrialOutcome& outcome);

}  // namespace lockstep::test
