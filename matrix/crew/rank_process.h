// The process that serves one rank of every trial, from the first order to the goodbye.
#pragma once

#include <functional>

#include "backends/coordinator/client.h"
#include "simulator/runtime/rank_program.h"

namespace lockstep::matrix {

struct RankProcessOptions {
  backends::CoordinatorAddress coordinator;
  int seat = 0;
  std::uint64_t generation = 0;
  double timeout_s = 60.0;  // ends a transfer that does not move
  // What a rank does of a trial.
  std::function<void(const sim::RankProgram&, Transport&, RankResult&)> program =
      sim::run_rank_program;
};

// Returns the exit code once the coordinator is gone or has said goodbye. ConnectionLost where it
// was never reached.
int serve_ranks(const RankProcessOptions& options);

}  // namespace lockstep::matrix
