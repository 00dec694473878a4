// The runners that need nothing but this process.
#include "matrix/sweep/trial_runner.h"

#include <utility>

#include "core/tensor/cuda/gpu.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

TrialRunner simulated_ranks(sim::RankHost host) {
  return {.comm = "inproc",
          .why_not = [](const Case&) { return std::nullopt; },
          .run = [host](const Case& c) { return sim::run_trial(c, {.host = host}); }};
}

TrialRunner simulated_ranks(sim::RankHost host, std::shared_ptr<Gpu> gpu) {
  TrialRunner ranks = simulated_ranks(host);
  ranks.device = "cuda";
  ranks.run = [host, gpu](const Case& c) {
    return sim::run_trial(c, {.host = host, .gpu = gpu.get()});
  };
  ranks.is_spent = [gpu = std::move(gpu)] { return gpu->is_lost(); };
  return ranks;
}

}  // namespace lockstep::matrix
