// Kernels that give each row of a matrix a block, and reductions over a block in a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {

inline constexpr int kWarp = 32;

struct Sum {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};

// A NaN wins over every number and stays.
struct Larger {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return (b > a || b != b) ? b : a;
  }
};

// Every thread's value combined into one that all threads get: in each warp by a butterfly, then
// the warps in order. All threads of a block call it; their number is a multiple of a warp's.
template <typename A, typename Combine>
__device__ A reduced_over_block(A value, Combine combine) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  const int num_warps = static_cast<int>(blockDim.x) / kWarp;
  if (num_warps == 1) return value;
  __shared__ A of_warps[kThreads / kWarp];
  __syncthreads();  // the last reduction's values have been read
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < num_warps; ++warp) value = combine(value, of_warps[warp]);
  return value;
}

// Sum of term(i) over i < count: each thread its own i in order, then all threads.
template <typename A, typename Term>
__device__ A sum_over_block(std::int64_t count, Term term) {
  A sum{0};
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += term(i);
  return reduced_over_block(sum, Sum{});
}

template <typename Body>
__global__ void __launch_bounds__(kThreads) each_row_kernel(std::int64_t rows, Body body) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row);
}

// Calls body(row) in all threads of one block for each row. Their number, and with it the order of
// a reduction, goes by the columns alone.
template <typename Body>
void for_each_row(const LaunchTarget& target, std::int64_t rows, std::int64_t columns, Body body) {
  constexpr std::int64_t kMaxBlocks = 1 << 20;
  if (rows == 0) return;
  const std::int64_t warps =
      std::clamp<std::int64_t>((columns + kWarp - 1) / kWarp, 1, kThreads / kWarp);
  each_row_kernel<<<static_cast<unsigned>(std::min(rows, kMaxBlocks)),
                    static_cast<unsigned>(warps * kWarp),
                    0,
                    stream_of(target)>>>(rows, body);
}

}  // namespace lockstep::cuda
