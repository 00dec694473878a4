// How the kernels here are started: grids, and lists of pointers as a kernel's parameters.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lockstep::backends::gpu {

inline constexpr int kThreads = 256;

// Blocks for so many threads' work, of which each may do more than one piece.
inline unsigned blocks_for(std::int64_t count) {
  constexpr std::int64_t kMaxBlocks = 4096;
  return static_cast<unsigned>(
      std::clamp((count + kThreads - 1) / kThreads, std::int64_t{1}, kMaxBlocks));
}

inline cudaStream_t native(void* stream) { return static_cast<cudaStream_t>(stream); }

// Lists in a kernel's parameters have a fixed size, and what a launch costs grows with it: the
// smallest that holds `size`. Calls body(std::index_sequence<capacity>).
template <std::size_t kMax, typename Body>
void with_capacity(std::size_t size, const Body& body) {
  if (size <= 8) return body(std::index_sequence<8>{});
  if (size <= 64) return body(std::index_sequence<64>{});
  body(std::index_sequence<kMax>{});
}

// This thread's place in a grid of one dimension, and how many there are.
__device__ inline std::int64_t first_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t num_threads() { return std::int64_t{gridDim.x} * blockDim.x; }

}  // namespace lockstep::backends::gpu
