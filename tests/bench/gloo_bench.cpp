// What an all-reduce over Gloo costs through the port, and without it; ranks are threads.
#include <benchmark/benchmark.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/bench/medians.h"
#include "tests/support/gloo_ranks.h"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNumCalls = 40;

Seconds timed(const std::function<void()>& call) {
  call();  // connects
  Seconds seconds;
  for (int i = 0; i < kNumCalls; ++i) {
    const Clock::time_point start = Clock::now();
    call();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return seconds;
}

Seconds through_the_port(int num_ranks, std::int64_t count) {
  Seconds seconds;
  run_gloo_ranks(num_ranks, [&](TestRank& rank) {
    const auto communicator = rank.connect(GroupKind::kTp);
    Tensor x = rank.tensor(std::vector<double>(static_cast<std::size_t>(count), 1.0));
    const CollectiveCall call{.label = "bench.sum", .input = x.buffer(), .output = x.buffer()};
    const Seconds mine = timed([&] { run_call(*communicator, call); });
    if (rank.rank.value == 0) seconds = mine;
  });
  return seconds;
}

// The algorithm that the backend uses.
Seconds bare_gloo(int num_ranks, std::int64_t count) {
  ::gloo::rendezvous::HashStore store;
  Seconds seconds;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < num_ranks; ++rank) {
    ranks.emplace_back([&, rank] {
      auto device = ::gloo::transport::tcp::CreateDevice("127.0.0.1");
      const auto context = std::make_shared<::gloo::rendezvous::Context>(rank, num_ranks);
      context->connectFullMesh(store, device);
      std::vector<double> x(static_cast<std::size_t>(count), 1.0);
      std::uint32_t tag = 0;
      const Seconds mine = timed([&] {
        ::gloo::AllreduceOptions options(context);
        options.setOutput(x.data(), x.size());
        options.setReduceFunction(
            static_cast<void (*)(void*, const void*, const void*, std::size_t)>(
                &::gloo::sum<double>));
        options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::BCUBE);
        options.setTag(++tag);
        ::gloo::allreduce(options);
      });
      if (rank == 0) seconds = mine;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return seconds;
}

// `times_bare` is the call's time over that of Gloo alone, medians of runs in turn.
void BM_GlooAllReduce(benchmark::State& state) {
  const auto num_ranks = static_cast<int>(state.range(0));
  Seconds ours;
  Seconds bare;
  for (auto _ : state) {
    for (const double seconds : bare_gloo(num_ranks, state.range(1))) bare.push_back(seconds);
    const Seconds now = through_the_port(num_ranks, state.range(1));
    ours.insert(ours.end(), now.begin(), now.end());
    state.SetIterationTime(median(now));
  }
  state.counters["times_bare"] = median(ours) / median(bare);
}

BENCHMARK(BM_GlooAllReduce)
    ->ArgNames({"ranks", "count"})
    ->ArgsProduct({{2, 4, 8}, {128, 131072}})
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::test
