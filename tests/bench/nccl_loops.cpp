// Warm-up, then calls whose time is taken by the host.
#include "tests/bench/nccl_loops.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <barrier>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/tensor/cuda/gpu.h"
#include "tests/bench/medians.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNumWarmUps = 20;
constexpr int kNumCalls = 200;

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

std::int64_t count_of(const Load& load) {
  return load.num_bytes / static_cast<std::int64_t>(sizeof(float));
}

void check(ncclResult_t result) { expect(result == ncclSuccess, ncclGetErrorString(result)); }
void check(cudaError_t error) { expect(error == cudaSuccess, cudaGetErrorString(error)); }

// On ranks as threads, each with a blocking communicator. What a rank throws ends the process.
void on_bare_ranks(const Load& load, const std::function<void(int rank, ncclComm_t)>& program) {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < load.num_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      check(cudaSetDevice(rank % num_gpus()));
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      if (!load.one_rank_a_gpu) config.minCTAs = config.maxCTAs = 1;
      ncclComm_t communicator = nullptr;
      check(ncclCommInitRankConfig(&communicator, load.num_ranks, id, rank, &config));
      program(rank, communicator);
      check(ncclCommDestroy(communicator));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Seconds through_the_port(const Load& load) {
  Seconds seconds;
  const backends::TrialOutcome outcome = run_nccl_ranks(
      load.num_ranks,
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        const Tensor x = r.empty(count_of(load), DType::kF32);
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
      },
      {.one_rank_a_gpu = load.one_rank_a_gpu});
  expect(outcome.findings.empty(), to_text(outcome));
  return seconds;
}

Seconds bare_nccl(const Load& load) {
  Seconds seconds;
  std::barrier<> all_are_ready(load.num_ranks);  // memory is taken while no other rank's call runs
  on_bare_ranks(load, [&](int rank, ncclComm_t communicator) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    void* x = nullptr;
    const auto count = static_cast<std::size_t>(count_of(load));
    check(cudaMallocAsync(&x, count * sizeof(float), stream));
    check(cudaMemsetAsync(x, 1, count * sizeof(float), stream));
    check(cudaStreamSynchronize(stream));
    all_are_ready.arrive_and_wait();
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

}  // namespace

Measured measure(benchmark::State& state, const Load& load) {
  Seconds ours;
  Seconds bare;
  for (auto _ : state) {
    for (const double seconds : bare_nccl(load)) bare.push_back(seconds);
    const Seconds now = through_the_port(load);
    ours.insert(ours.end(), now.begin(), now.end());
    state.SetIterationTime(median(now));
  }
  return {.seconds = median(ours), .bare_seconds = median(bare)};
}

}  // namespace lockstep::test
