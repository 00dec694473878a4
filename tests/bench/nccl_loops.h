// All-reduces of f32 over NCCL in a loop, through the port and without it: ranks are threads on the
// GPUs that this process sees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::test {

using Seconds = std::vector<double>;  // of a call, on rank 0

struct Load {
  int num_ranks;
  std::int64_t num_bytes;  // of each rank
  bool waits_for_each;     // or only once all calls are begun: then their mean is told
  // As many GPUs as ranks, and as many channels as NCCL likes; else one each.
  bool one_rank_a_gpu = false;
};

// What a rank throws, or a trial finds, is thrown: there is no figure then.
Seconds through_the_port(const Load& load);
// Another thread's error ends the process.
Seconds bare_nccl(const Load& load);

double median(Seconds values);

}  // namespace lockstep::test
