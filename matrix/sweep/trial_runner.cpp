// The runner that needs nothing but this process.
#include "matrix/sweep/trial_runner.h"

#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

TrialRunner simulated_ranks(sim::RankHost host) {
  return {.comm = "inproc",
          .why_not = [](const Case&) { return std::nullopt; },
          .run = [host](const Case& c) { return sim::run_trial(c, {.host = host}); }};
}

}  // namespace lockstep::matrix
