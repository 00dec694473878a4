// What a collective and a cluster cost on fibers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "tests/bench/medians.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Eight blocks that copy to eight others: what any exchange must move at least.
class CopyOfEight {
 public:
  explicit CopyOfEight(std::size_t num_bytes)
      : inputs_(8, std::vector<std::byte>(num_bytes)), outputs_(inputs_) {}

  double seconds() {
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      std::memcpy(outputs_[i].data(), inputs_[i].data(), inputs_[i].size());
    }
    benchmark::ClobberMemory();
    return seconds_since(start);
  }

 private:
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::vector<std::byte>> outputs_;
};

struct AllReduceSetup {
  bool in_place = true;
  bool beside_copy = false;
};

// Each call is timed, and next to it a copy of as much.
void time_beside_copy(benchmark::State& state, Communicator& tp, const CollectiveCall& call) {
  CopyOfEight copy(static_cast<std::size_t>(state.range(0)));
  std::vector<double> call_seconds;
  std::vector<double> copy_seconds;
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    run_call(tp, call);
    call_seconds.push_back(seconds_since(start));
    state.SetIterationTime(call_seconds.back());
    copy_seconds.push_back(copy.seconds());
  }
  state.counters["copy_us"] = median(copy_seconds) * 1e6;
  state.counters["times_copy"] = median(call_seconds) / median(copy_seconds);
}

// Whole collectives: eight submits and eight waits. The argument is bytes a rank. Rank 0 counts the
// iterations; the others do as many, known beforehand.
void all_reduce(benchmark::State& state, const TestRank& r, const AllReduceSetup& setup) {
  const std::int64_t count = state.range(0) / 8;
  const auto tp = r.connect(GroupKind::kTp);
  const Tensor input = r.empty(count);
  const Tensor other = r.empty(count);
  std::fill_n(input.data<double>(), count, 1.0);
  const CollectiveCall call{.label = "bench.all_reduce",
                            .kind = CollectiveKind::kAllReduce,
                            .input = input.buffer(),
                            .output = setup.in_place ? input.buffer() : other.buffer(),
                            .op = ReduceOp::kSum};
  if (r.rank.value != 0) {
    for (benchmark::IterationCount i = 0; i < state.max_iterations; ++i) run_call(*tp, call);
  } else if (setup.beside_copy) {
    time_beside_copy(state, *tp, call);
  } else {
    for (auto _ : state) run_call(*tp, call);
  }
  run_call(*tp, {.label = "bench.end", .kind = CollectiveKind::kBarrier});
}

void BM_EightRanksAllReduceInPlace(benchmark::State& state) {
  spawn_ranks(8, [&](TestRank& r) { all_reduce(state, r, {.in_place = true}); });
}
BENCHMARK(BM_EightRanksAllReduceInPlace)->Arg(64)->Arg(1024);

void BM_EightRanksAllReduce(benchmark::State& state) {
  spawn_ranks(8, [&](TestRank& r) { all_reduce(state, r, {.in_place = false}); });
}
BENCHMARK(BM_EightRanksAllReduce)->Arg(64)->Arg(1024);

// times_copy: medians of this run, a copy after each call.
void BM_EightRanksAllReduceInPlaceBesideCopy(benchmark::State& state) {
  spawn_ranks(8,
              [&](TestRank& r) { all_reduce(state, r, {.in_place = true, .beside_copy = true}); });
}
BENCHMARK(BM_EightRanksAllReduceInPlaceBesideCopy)->Arg(65536)->Arg(4 << 20)->UseManualTime();

void BM_EightRanksAllReduceBesideCopy(benchmark::State& state) {
  spawn_ranks(8,
              [&](TestRank& r) { all_reduce(state, r, {.in_place = false, .beside_copy = true}); });
}
BENCHMARK(BM_EightRanksAllReduceBesideCopy)->Arg(65536)->Arg(4 << 20)->UseManualTime();

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

}  // namespace
}  // namespace lockstep::test
