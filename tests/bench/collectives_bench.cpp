// What a collective, a wait, a cluster and a deadlock report cost on fibers.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

void all_reduce_repeatedly(benchmark::State& state, const TestRank& r, bool in_place) {
  const std::int64_t count = state.range(0) / 8;
  const auto tp = r.connect(GroupKind::kTp);
  const Tensor input = r.empty(count);
  const Tensor other = r.empty(count);
  std::fill_n(input.data<double>(), count, 1.0);
  const CollectiveCall call{.label = "bench.all_reduce",
                            .kind = CollectiveKind::kAllReduce,
                            .input = input.buffer(),
                            .output = in_place ? input.buffer() : other.buffer(),
                            .op = ReduceOp::kSum};
  const CollectiveCall last{.label = "bench.end", .kind = CollectiveKind::kBarrier};
  // Rank 0 counts the iterations; the others do as many, known beforehand.
  if (r.rank.value == 0) {
    for (auto _ : state) run_call(*tp, call);
  } else {
    for (std::size_t i = 0; i < static_cast<std::size_t>(state.max_iterations); ++i) {
      run_call(*tp, call);
    }
  }
  run_call(*tp, last);
}

// Whole collective: eight submits and eight waits. The argument is bytes a rank.
void BM_EightRanksAllReduceInPlace(benchmark::State& state) {
  spawn_ranks(8, [&](TestRank& r) { all_reduce_repeatedly(state, r, true); });
}
BENCHMARK(BM_EightRanksAllReduceInPlace)->Arg(64)->Arg(1024)->Arg(65536)->Arg(4 << 20);

void BM_EightRanksAllReduce(benchmark::State& state) {
  spawn_ranks(8, [&](TestRank& r) { all_reduce_repeatedly(state, r, false); });
}
BENCHMARK(BM_EightRanksAllReduce)->Arg(64)->Arg(1024)->Arg(65536)->Arg(4 << 20);

// What any exchange must move at least: eight inputs to eight outputs.
void BM_CopyEightInputsToEightOutputs(benchmark::State& state) {
  const auto num_bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::vector<std::byte>> inputs(8, std::vector<std::byte>(num_bytes));
  std::vector<std::vector<std::byte>> outputs = inputs;
  for (auto _ : state) {
    for (std::size_t i = 0; i < 8; ++i) {
      std::memcpy(outputs[i].data(), inputs[i].data(), num_bytes);
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_CopyEightInputsToEightOutputs)->Arg(1024)->Arg(65536)->Arg(4 << 20);

// From nothing to the end: 1,024 ranks are started, do 20 all-reduces of 8 doubles, and end.
void BM_ThousandRanksTwentyAllReduces(benchmark::State& state) {
  for (auto _ : state) {
    spawn_ranks(1024, [](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      const Tensor values = r.tensor(std::vector<double>(8, 1.0));
      for (int i = 0; i < 20; ++i) {
        run_call(*tp,
                 {.label = "bench.all_reduce",
                  .kind = CollectiveKind::kAllReduce,
                  .input = values.buffer(),
                  .output = values.buffer()});
      }
    });
  }
}
BENCHMARK(BM_ThousandRanksTwentyAllReduces)->Unit(benchmark::kMillisecond);

void BM_EightRanksStartAndEnd(benchmark::State& state) {
  for (auto _ : state) spawn_ranks(8, [](TestRank&) {});
}
BENCHMARK(BM_EightRanksStartAndEnd)->Unit(benchmark::kMicrosecond);

// Start, deadlock, report, unwind, end. The argument is the number of ranks.
void BM_DeadlockFromStartToReport(benchmark::State& state) {
  for (auto _ : state) {
    spawn_ranks(static_cast<int>(state.range(0)), [](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      if (r.rank.value == 1) return;
      run_call(*tp, {.label = "bench.barrier", .kind = CollectiveKind::kBarrier});
    });
  }
}
BENCHMARK(BM_DeadlockFromStartToReport)->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lockstep::test

BENCHMARK_MAIN();
