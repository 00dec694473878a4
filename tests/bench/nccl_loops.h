// All-reduces of f32 over NCCL in a loop, through the port and without it: ranks are threads on the
// GPUs that this process sees.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

namespace lockstep::test {

struct Load {
  int num_ranks;
  std::int64_t num_bytes;  // of each rank
  bool waits_for_each;     // or only once all calls are begun: then their mean is told
  // As many GPUs as ranks, and as many channels as NCCL likes; else one each.
  bool one_rank_a_gpu = false;
};

struct Measured {
  double seconds;       // of a call through the port, on rank 0
  double bare_seconds;  // of NCCL alone
};
// Medians over the benchmark's iterations, of runs in turn; each iteration's time is set. Where
// ranks share GPUs, prepare_nccl_ranks() comes first. What a rank throws, or a trial finds, is
// thrown; an error of NCCL alone ends the process.
Measured measure(benchmark::State& state, const Load& load);

}  // namespace lockstep::test
