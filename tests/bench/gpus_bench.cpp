// All-reduces over NCCL with a GPU for each rank: what bandwidth is left of NCCL's own. In a
// process of its own, for where ranks share GPUs NCCL is set up for all of the process.
#include <benchmark/benchmark.h>

#include "core/tensor/cuda/gpu.h"
#include "tests/bench/nccl_loops.h"

namespace lockstep::test {
namespace {

// What each GPU sends, and receives, of a ring's all-reduce, in GB a second: (n-1)/n of the data
// twice.
double bus_bandwidth(const Load& load, double seconds) {
  const double share = 2.0 * (load.num_ranks - 1) / load.num_ranks;
  return 1e-9 * share * static_cast<double>(load.num_bytes) / seconds;
}

void BM_NcclAllReduceOnAllGpus(benchmark::State& state) {
  if (num_gpus() < 2) return state.SkipWithError("this needs two GPUs");
  const Load load{.num_ranks = num_gpus(),
                  .num_bytes = state.range(0),
                  .waits_for_each = true,
                  .one_rank_a_gpu = true};
  const Measured measured = measure(state, load);
  state.counters["gpus"] = load.num_ranks;
  state.counters["bus_GB_s"] = bus_bandwidth(load, measured.seconds);
  state.counters["bare_bus_GB_s"] = bus_bandwidth(load, measured.bare_seconds);
  state.counters["bare_us"] = 1e6 * measured.bare_seconds;
}

BENCHMARK(BM_NcclAllReduceOnAllGpus)
    ->ArgNames({"bytes"})
    ->Arg(1 << 10)
    ->Arg(1 << 26)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lockstep::test
