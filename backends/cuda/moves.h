// What backends do to a GPU's memory: sums and maxima in a given order, copies, poison.
//
// Each is enqueued on a cudaStream_t of the GPU that the calling thread has entered, and returns at
// once; lists that are passed may go then. CudaError where it cannot be enqueued. In a build without
// CUDA each is a UsageError that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/comm/communicator.h"

namespace lockstep::backends {

// Pointers that one reduction takes: as many inputs, and as many outputs.
inline constexpr std::size_t kMaxGpuPointers = 1024;

struct GpuReduction {
  DType dtype = DType::kF64;
  ReduceOp op = ReduceOp::kSum;
  bool tree = false;  // halves of the ranks are summed apart; else one after another
};

// Elements [first, first + count) of the inputs, which come in the order of summation; an output
// points to where element `first` goes. Each element is computed once, by core/comm/element_ops.h:
// bf16 is rounded at each hop, a NaN wins a maximum, and all outputs get equal bits, those of a sum
// on the host unless it is NaN. An output may be where the same elements of an input are, and must
// not overlap an input otherwise. Pointers are aligned to an element; UsageError for more of them
// than kMaxGpuPointers.
void reduce_on_gpu(const GpuReduction& reduction,
                   std::span<const std::byte* const> inputs,
                   std::int64_t first,
                   std::int64_t count,
                   std::span<std::byte* const> outputs,
                   void* stream);

struct GpuCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::int64_t num_bytes = 0;
};

// All at the same time, in one launch where the list is short: no target may overlap another one or
// any source, but for a copy onto itself. Any alignment. A copy with no bytes or a null end is none.
void copy_on_gpu(std::span<const GpuCopy> copies, void* stream);

// Which elements of a buffer are filled: all before `whole`, from there on the first `run` of every
// `stride`, and the last.
struct PoisonPattern {
  std::int64_t whole = 0;
  std::int64_t stride = 1;
  std::int64_t run = 1;
};

// Quiet NaN, and in integers a huge negative number.
void poison_on_gpu(const Buffer& buffer, const PoisonPattern& pattern, void* stream);

// After what is enqueued on the stream, and waited for: either side may be memory of the host.
void copy_and_wait(std::byte* to, const std::byte* from, std::int64_t num_bytes, void* stream);

}  // namespace lockstep::backends
