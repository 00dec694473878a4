// Ranks as threads of this process, each with its own line to a coordinator in the caller's thread,
// as processes have: what is run for an order is the caller's.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "backends/coordinator/client.h"
#include "backends/coordinator/coordinator.h"
#include "core/comm/mesh.h"

namespace lockstep::test {

struct CoordinatedOptions {
  std::chrono::milliseconds stall{20000};  // of the coordinator: nothing happens for so long
  // Trials over the same threads, one after another; the last one's outcome is given. One with
  // findings is the last, unless `past_findings`: then every rank must have ended by itself.
  int num_trials = 1;
  bool past_findings = false;
  bool one_process = false;  // calls are put in order for all ranks together, as of one process
};

// One trial's program on this thread.
using ServeOrder = std::function<void(const backends::TrialOrder&)>;
// Called once on each thread, of a seat from 0 on; what it gives lives as long as the thread
// serves.
using MakeServer = std::function<ServeOrder(backends::CoordinatorClient&, int seat)>;

// Thrown by a program whose thread is to end as a killed process does: its line just breaks.
struct EndsWithoutAWord {};

// Never throws for what a rank does. A rank that was told that its trial is over leaves, as its
// process would be ended.
backends::TrialOutcome run_coordinated_ranks(const Mesh& mesh,
                                             const MakeServer& make_server,
                                             const CoordinatedOptions& options);

// All messages, a blank line between them: for a failed assertion.
std::string to_text(const backends::TrialOutcome& outcome);

}  // namespace lockstep::test
