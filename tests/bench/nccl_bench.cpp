// What an all-reduce over NCCL costs through the port, and without it, and what it costs to set
// communicators up; ranks are threads on one GPU.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backends/nccl/transport.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::vector<double>;  // of a call, on rank 0

constexpr int kNumWarmUps = 20;
constexpr int kNumCalls = 200;

double median(Seconds values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void expect(bool is_well, const std::string& what) {
  if (!is_well) throw std::runtime_error(what);
}

// `call` begins one all-reduce, `finish` waits until all that were begun are done. Each call waited
// for, or all of them begun before the first is.
Seconds timed(bool waits_for_each,
              const std::function<void()>& call,
              const std::function<void()>& finish) {
  for (int i = 0; i < kNumWarmUps; ++i) call();
  finish();
  Seconds seconds;
  Clock::time_point start = Clock::now();
  for (int i = 0; i < kNumCalls; ++i) {
    call();
    if (!waits_for_each) continue;
    finish();
    const Clock::time_point now = Clock::now();
    seconds.push_back(std::chrono::duration<double>(now - start).count());
    start = now;
  }
  if (waits_for_each) return seconds;
  finish();
  return {std::chrono::duration<double>(Clock::now() - start).count() / kNumCalls};
}

struct Load {
  int num_ranks;
  std::int64_t count;  // of f32
  bool waits_for_each;
};

Seconds through_the_port(const Load& load) {
  Seconds seconds;
  const backends::TrialOutcome outcome = run_nccl_ranks(load.num_ranks, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.empty(load.count, DType::kF32);
    const Buffer buffer = x.buffer();
    const CollectiveCall sum{.label = "bench.sum", .input = buffer, .output = buffer};
    const Seconds mine = timed(
        load.waits_for_each,
        [&] {
          wait_for(r.device, tp->submit({&sum, 1}), "bench.wait");
        },
        [&] {
          r.device.launch({.label = "bench.finish",
                           .kind = LaunchKind::kHostRead,
                           .reads = {&buffer, 1},
                           .body = [](const LaunchTarget&) {}});
        });
    if (r.rank.value == 0) seconds = mine;
  });
  expect(outcome.findings.empty(), to_text(outcome));
  return seconds;
}

void check(ncclResult_t result) { expect(result == ncclSuccess, ncclGetErrorString(result)); }
void check(cudaError_t error) { expect(error == cudaSuccess, cudaGetErrorString(error)); }

// On ranks as threads, with a blocking communicator of one channel each. What a rank throws ends
// the process.
void on_bare_ranks(int num_ranks, const std::function<void(int rank, ncclComm_t)>& program) {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      check(cudaSetDevice(0));
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.minCTAs = config.maxCTAs = 1;
      ncclComm_t communicator = nullptr;
      check(ncclCommInitRankConfig(&communicator, num_ranks, id, rank, &config));
      program(rank, communicator);
      check(ncclCommDestroy(communicator));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Seconds bare_nccl(const Load& load) {
  Seconds seconds;
  on_bare_ranks(load.num_ranks, [&](int rank, ncclComm_t communicator) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    void* x = nullptr;
    const auto count = static_cast<std::size_t>(load.count);
    check(cudaMallocAsync(&x, count * sizeof(float), stream));
    check(cudaMemsetAsync(x, 1, count * sizeof(float), stream));
    const Seconds mine = timed(
        load.waits_for_each,
        [&] { check(ncclAllReduce(x, x, count, ncclFloat32, ncclSum, communicator, stream)); },
        [&] { check(cudaStreamSynchronize(stream)); });
    check(cudaFreeAsync(x, stream));
    check(cudaStreamSynchronize(stream));
    check(cudaStreamDestroy(stream));
    if (rank == 0) seconds = mine;
  });
  return seconds;
}

// `times_bare` is the call's time over that of NCCL alone, medians of runs in turn.
void compare(benchmark::State& state, bool waits_for_each) {
  if (const std::string why = prepare_nccl_ranks(); !why.empty()) {
    return state.SkipWithError(why.c_str());
  }
  const Load load{.num_ranks = static_cast<int>(state.range(0)),
                  .count = state.range(1) / static_cast<std::int64_t>(sizeof(float)),
                  .waits_for_each = waits_for_each};
  Seconds ours;
  Seconds bare;
  for (auto _ : state) {
    for (const double seconds : bare_nccl(load)) bare.push_back(seconds);
    const Seconds now = through_the_port(load);
    ours.insert(ours.end(), now.begin(), now.end());
    state.SetIterationTime(median(now));
  }
  state.counters["bare_us"] = 1e6 * median(bare);
  state.counters["times_bare"] = median(ours) / median(bare);
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
    Gpu gpu(0);
    backends::NcclProcess process;
    std::barrier<> all(num_ranks);
    double seconds = 0.0;
    const Mesh mesh(layout);
    const MakeServer make_server = [&](backends::CoordinatorClient& client) -> ServeOrder {
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
    expect(outcome.findings.empty(), to_text(outcome));
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
