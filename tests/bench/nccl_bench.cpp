// What an all-reduce over NCCL costs through the port, and without it, and what it costs to set
// communicators up, with what ranks need that share GPUs.
#include <benchmark/benchmark.h>

#include <barrier>
#include <chrono>
#include <stdexcept>
#include <string>

#include "backends/nccl/transport.h"
#include "tests/bench/nccl_loops.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;

// `times_bare` is the call's time over that of NCCL alone, medians of runs in turn.
void compare(benchmark::State& state, bool waits_for_each) {
  if (const std::string why = prepare_nccl_ranks(); !why.empty()) {
    return state.SkipWithError(why.c_str());
  }
  const Load load{.num_ranks = static_cast<int>(state.range(0)),
                  .num_bytes = state.range(1),
                  .waits_for_each = waits_for_each};
  const Measured measured = measure(state, load);
  state.counters["bare_us"] = 1e6 * measured.bare_seconds;
  state.counters["times_bare"] = measured.seconds / measured.bare_seconds;
}

void BM_NcclAllReduce(benchmark::State& state) { compare(state, true); }
void BM_NcclAllReducesInARow(benchmark::State& state) { compare(state, false); }

void with_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"ranks", "bytes"})
      ->ArgsProduct({{2, 8}, {1 << 10, 1 << 26}})
      ->Iterations(3)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

BENCHMARK(BM_NcclAllReduce)->Apply(with_sizes);

// From the first rank's arrival until every rank has its world's communicator and those of tp and
// dp, in a process that has set NCCL up before.
void BM_NcclSetUp(benchmark::State& state) {
  if (const std::string why = prepare_nccl_ranks(); !why.empty()) {
    return state.SkipWithError(why.c_str());
  }
  const auto num_ranks = static_cast<int>(state.range(0));
  const Layout layout = layout_of({.tp = num_ranks / 2, .dp = 2});
  run_nccl_ranks(layout, [](TestRank&) {});
  for (auto _ : state) {
    SeenGpus gpus;
    backends::NcclProcess process;
    std::barrier<> all(num_ranks);
    double seconds = 0.0;
    const Mesh mesh(layout);
    const MakeServer make_server = [&](backends::CoordinatorClient& client,
                                       int seat) -> ServeOrder {
      Gpu& gpu = gpus.of(seat);
      return [&](const backends::TrialOrder& order) {
        backends::NcclConnections connections(process, client, gpu, {.shares_gpu = true});
        CudaDevice device(gpu);
        all.arrive_and_wait();
        const Clock::time_point start = Clock::now();
        const auto transport = backends::make_nccl_transport(
            client, connections, {.order = order, .mesh = mesh, .device = device});
        all.arrive_and_wait();
        if (order.rank.value == 0) {
          seconds = std::chrono::duration<double>(Clock::now() - start).count();
        }
      };
    };
    const backends::TrialOutcome outcome =
        run_coordinated_ranks(mesh, make_server, {.one_process = true});
    if (!outcome.findings.empty()) throw std::runtime_error(to_text(outcome));
    state.SetIterationTime(seconds);
  }
}

BENCHMARK(BM_NcclSetUp)
    ->ArgNames({"ranks"})
    ->ArgsProduct({{2, 4, 8, 16}})
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Last: NCCL alone, without a wait between calls, may hang where streams share the GPU's queues.
BENCHMARK(BM_NcclAllReducesInARow)->Apply(with_sizes);

}  // namespace
}  // namespace lockstep::test
