// Enqueues plans: copies, one group of NCCL's operations, reductions, each part on its own stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/nccl/process.h"

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

// The parts of one call, all in one group of NCCL's. NcclError, CudaError.
void enqueue_parts(std::span<const NcclPart> parts);

}  // namespace lockstep::backends
