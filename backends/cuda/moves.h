// What backends do to a GPU's memory: sums and maxima in a given order, copies, filling.
//
// Each is enqueued on a cudaStream_t of the GPU that the calling thread has entered, and returns at
// once: a list that was passed may go then. CudaError where it cannot be enqueued. A build without
// CUDA has the same functions, which throw UsageError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/comm/communicator.h"

namespace lockstep::backends {

// Of one reduction: so many inputs, and as many outputs.
inline constexpr std::size_t kMaxGpuPointers = 1024;

struct GpuReduction {
  DType dtype = DType::kF64;
  ReduceOp op = ReduceOp::kSum;
  bool tree = false;  // halves of the inputs are reduced apart; else one after another
};

// Elements [first, first + count) of the inputs, which come in the order of summation; an output
// points to where element `first` goes. Each element is computed once, by core/comm/element_ops.h:
// bf16 is rounded at each hop, NaN wins a maximum, and every output gets equal bits, those of the
// host's loops but for a NaN's payload. An output may be where the same elements of an input are,
// and must not overlap one otherwise. UsageError for more pointers than kMaxGpuPointers.
void reduce_on_gpu(const GpuReduction& reduction,
                   std::span<const std::byte* const> inputs,
                   std::int64_t first,
                   std::int64_t count,
                   std::span<std::byte* const> outputs,
                   void* stream);

struct ByteCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::int64_t num_bytes = 0;
};

// All at the same time, at any alignment: no target may overlap another one or any source, but for
// a copy onto itself. One that has no bytes or a null end is none.
void copy_on_gpu(std::span<const ByteCopy> copies, void* stream);

// Which elements of a buffer are filled: those before `whole`, from there on the first `run` of
// every `stride`, and the last.
struct FillPattern {
  std::int64_t whole = 0;
  std::int64_t stride = 1;
  std::int64_t run = 1;
};

// With the low bytes of `bits`, as many as an element has.
void fill_on_gpu(const Buffer& buffer,
                 std::uint64_t bits,
                 const FillPattern& pattern,
                 void* stream);

// Follows what is on the stream and waits for it. Either side may be memory of the host.
void copy_and_wait(std::byte* to, const std::byte* from, std::int64_t num_bytes, void* stream);

}  // namespace lockstep::backends
