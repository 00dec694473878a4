// Enqueues a plan: copies, one group of NCCL's operations, reductions, all on one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/nccl/plan.h"

struct ncclComm;

namespace lockstep::backends {

// Memory of the GPU, ordered by a stream: it is there for what is enqueued on it until it goes.
class StreamScratch {
 public:
  // A cudaStream_t of the GPU that the calling thread has entered.
  explicit StreamScratch(void* stream) : stream_(stream) {}
  ~StreamScratch();
  StreamScratch(const StreamScratch&) = delete;
  StreamScratch& operator=(const StreamScratch&) = delete;

  // CudaError where there is no room.
  std::byte* take(std::int64_t num_bytes);

 private:
  void* stream_;
  std::vector<void*> blocks_;
};

// NCCL launches from a thread of its own: `wait_for_start` returns when it has, and ends by an
// exception where it cannot. `communicator` may be null where the plan has no operations.
// NcclError, CudaError.
void enqueue_plan(const NcclPlan& plan,
                  ncclComm* communicator,
                  void* stream,
                  const std::function<void()>& wait_for_start);

}  // namespace lockstep::backends
