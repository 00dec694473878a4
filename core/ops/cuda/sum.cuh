// One number from a whole buffer, by one block whose order of summation is always the same: no
// atomics, and no more memory than the block's own.
#pragma once

#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {

inline constexpr int kSumThreads = 1024;  // a power of two: the tree halves it

// Thread t sums the terms t, t + kSumThreads, ... in order, then a tree the threads' sums.
template <typename Sum, typename Term, typename Store>
__global__ void sum_kernel(std::int64_t count, Term term, Store store) {
  __shared__ Sum sums[kSumThreads];
  const int thread = static_cast<int>(threadIdx.x);
  Sum sum{0};
#pragma unroll 4
  for (std::int64_t i = thread; i < count; i += kSumThreads) sum += term(i);
  sums[thread] = sum;
  for (int half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  if (thread == 0) store(sums[0]);
}

// store(the sum of term(i) over i < count); 0 where there is none.
template <typename Sum, typename Term, typename Store>
void store_sum(const LaunchTarget& target, std::int64_t count, Term term, Store store) {
  sum_kernel<Sum><<<1, kSumThreads, 0, stream_of(target)>>>(count, term, store);
}

}  // namespace lockstep::cuda
