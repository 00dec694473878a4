// The runners that need nothing but this process.
#include "matrix/sweep/trial_runner.h"

#include <algorithm>
#include <utility>

#include "backends/cuda/moves.h"
#include "core/tensor/cuda/gpu.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {
namespace {

// Training sums over tp, over dp and cp, and over tp and pp.
std::optional<std::string> why_not_on_gpu(const Case& c) {
  const Layout& layout = c.layout;
  const std::int64_t most = std::max(layout.tp * layout.pp, layout.dp * layout.cp);
  constexpr auto kMost = static_cast<std::int64_t>(backends::kMaxGpuPointers);
  if (most <= kMost) return std::nullopt;
  return "it sums over " + std::to_string(most) + " ranks; simulated ranks on a GPU sum over " +
         std::to_string(kMost) + " at most";
}

}  // namespace

TrialRunner simulated_ranks(sim::RankHost host) {
  return {.comm = "inproc",
          .why_not = [](const Case&) { return std::nullopt; },
          .run = [host](const Case& c) { return sim::run_trial(c, {.host = host}); }};
}

TrialRunner simulated_ranks(sim::RankHost host, std::shared_ptr<Gpu> gpu) {
  TrialRunner ranks = simulated_ranks(host);
  ranks.device = "cuda";
  ranks.why_not = why_not_on_gpu;
  ranks.run = [host, gpu](const Case& c) {
    return sim::run_trial(c, {.host = host, .gpu = gpu.get()});
  };
  ranks.is_spent = [gpu = std::move(gpu)] { return gpu->is_lost(); };
  return ranks;
}

}  // namespace lockstep::matrix
