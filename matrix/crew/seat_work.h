// What serves a seat: a line to the coordinator, and what a rank does of each trial.
#pragma once

#include <functional>
#include <string>

#include "backends/coordinator/client.h"
#include "backends/coordinator/coordinator.h"
#include "simulator/runtime/rank_program.h"

namespace lockstep::matrix {

// What a rank does of a trial.
using Program = std::function<void(const sim::RankProgram&, Transport&, RankResult&)>;

// Runs the order's rank and returns its result in bytes (rank_result_bytes.h).
using SeatWork = std::function<std::string(const backends::TrialOrder&)>;
// Makes a seat's work, with what it keeps from trial to trial. The client outlives it.
using MakeSeatWork = std::function<SeatWork(backends::CoordinatorClient&)>;

// Over Gloo, on the CPU. `timeout_s` ends a transfer that does not move.
MakeSeatWork gloo_work(double timeout_s, const Program& program = sim::run_rank_program);

// Serves one trial after another until the coordinator is gone or has said goodbye.
void serve_trials(backends::CoordinatorClient& client, const SeatWork& work);

// An interrupt of the terminal reaches the whole process group, but ending ranks is the business of
// whoever started them; none may outlive it.
void bind_to_parent();

}  // namespace lockstep::matrix
