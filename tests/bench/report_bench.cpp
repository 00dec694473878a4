// What the report of a deadlock or mismatch costs once the last rank has blocked.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>

#include "backends/inprocess/mover.h"
#include "backends/inprocess/rendezvous.h"
#include "core/base/errors.h"
#include "core/tensor/cpu_device.h"
#include "simulator/runtime/rank_runner.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;

enum class Fault { kReturns, kCallsAnother };

void run_faulty_rank(Rank rank, const Mesh& mesh, Transport& transport, Fault fault) {
  CpuDevice device;
  const TestRank r{.rank = rank, .transport = transport, .device = device, .mesh = mesh};
  const auto tp = r.connect(GroupKind::kTp);
  const auto dp = r.connect(GroupKind::kDp);
  if (rank.value == 1 && fault == Fault::kReturns) return;
  const bool another = rank.value == 1 && fault == Fault::kCallsAnother;
  run_call(
      *tp,
      {.label = another ? "bench.another" : "bench.barrier", .kind = CollectiveKind::kBarrier});
  run_call(*dp, {.label = "bench.dp", .kind = CollectiveKind::kBarrier});
}

// Only the report is timed: from the moment when nobody can go on to all its text.
void report(benchmark::State& state, Fault fault) {
  const Mesh mesh(layout_of({.tp = 2, .dp = static_cast<int>(state.range(0)) / 2}));
  std::size_t num_bytes = 0;
  for (auto _ : state) {
    const std::unique_ptr<sim::RankRunner> runner = sim::make_fiber_runner(0);
    const std::unique_ptr<backends::Mover> mover = backends::make_host_mover();
    backends::Rendezvous rendezvous(mesh, {}, *runner, *mover);
    runner->run(mesh.world(),
                {.body =
                     [&](Rank rank) {
                       try {
                         run_faulty_rank(rank, mesh, rendezvous, fault);
                         rendezvous.rank_returned(rank);
                       } catch (const RankCancelled&) {
                         rendezvous.rank_cancelled(rank);
                       }
                     },
                 .all_wait =
                     [&] {
                       const Clock::time_point start = Clock::now();
                       rendezvous.all_wait();
                       const std::chrono::duration<double> spent = Clock::now() - start;
                       state.SetIterationTime(spent.count());
                     }});
    num_bytes = rendezvous.findings().front().message.size();
  }
  state.counters["message_bytes"] = static_cast<double>(num_bytes);
}

void BM_ReportOfAReturnedRank(benchmark::State& state) { report(state, Fault::kReturns); }
void BM_ReportOfAnotherCall(benchmark::State& state) { report(state, Fault::kCallsAnother); }
BENCHMARK(BM_ReportOfAReturnedRank)
    ->Arg(8)
    ->Arg(1024)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_ReportOfAnotherCall)
    ->Arg(8)
    ->Arg(1024)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lockstep::test
