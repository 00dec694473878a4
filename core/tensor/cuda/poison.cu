// One store of eight bytes a thread.
#include <algorithm>

#include "core/tensor/cuda/poison.h"
#include "core/tensor/poison.h"

namespace lockstep {
namespace {

__global__ void poison_kernel(std::uint64_t* words, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    words[i] = kPoison;
  }
}

}  // namespace

void poison_on_gpu(std::byte* memory, std::int64_t bytes, void* stream) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kMaxBlocks = 1024;
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(std::uint64_t));
  if (count == 0) return;
  const std::int64_t blocks = std::min(kMaxBlocks, (count + kThreads - 1) / kThreads);
  poison_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      reinterpret_cast<std::uint64_t*>(memory), count);
}

}  // namespace lockstep
