// Fixed loops over blocks of elements; no library's sum, whose bits may depend on alignment.
#include "backends/inprocess/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/inprocess/streaming_copy.h"
#include "core/comm/element_ops.h"

namespace lockstep::backends {
namespace {

// A tree keeps one block a level on the stack of a fiber: 13 levels of 4 KiB for 4,096 ranks.
constexpr std::int64_t kBlockElements = 512;

template <typename T, typename Op>
void combine(T* accumulated, const T* other, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) accumulated[i] = Op::of(accumulated[i], other[i]);
}

template <typename T>
const T* elements(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}

using Inputs = std::span<const std::byte* const>;

// result = op(... op(start, inputs[0]) ..., inputs[kNumInputs - 1]), in one pass over the block.
template <std::size_t kNumInputs, typename T, typename Op>
void combine_some(
    const T* start, Inputs inputs, std::int64_t first, std::int64_t count, T* result) {
  const T* others[kNumInputs];
  for (std::size_t j = 0; j < kNumInputs; ++j) others[j] = elements<T>(inputs[j]) + first;
  for (std::int64_t i = 0; i < count; ++i) {
    T combined = start[i];
    for (std::size_t j = 0; j < kNumInputs; ++j) combined = Op::of(combined, others[j][i]);
    result[i] = combined;
  }
}

// One input after another, a few of them in each pass.
template <typename T, typename Op>
void in_line(Inputs inputs, std::int64_t first, std::int64_t count, T* result) {
  const T* start = elements<T>(inputs[0]) + first;
  inputs = inputs.subspan(1);
  if (inputs.empty()) std::copy(start, start + count, result);
  while (!inputs.empty()) {
    const std::size_t taken = inputs.size() >= 7 ? 7 : inputs.size() >= 3 ? 3 : 1;
    if (taken == 7) combine_some<7, T, Op>(start, inputs, first, count, result);
    if (taken == 3) combine_some<3, T, Op>(start, inputs, first, count, result);
    if (taken == 1) combine_some<1, T, Op>(start, inputs, first, count, result);
    inputs = inputs.subspan(taken);
    start = result;
  }
}

template <typename T, typename Op>
void in_tree(Inputs inputs, std::int64_t first, std::int64_t count, T* result) {
  if (inputs.size() <= 2) return in_line<T, Op>(inputs, first, count, result);
  const std::size_t half = (inputs.size() + 1) / 2;
  alignas(64) T other[kBlockElements];
  in_tree<T, Op>(inputs.first(half), first, count, result);
  in_tree<T, Op>(inputs.subspan(half), first, count, other);
  combine<T, Op>(result, other, count);
}

template <typename T, typename Op>
void reduce_blocks(const Reduction& reduction,
                   Inputs inputs,
                   std::int64_t first,
                   std::int64_t count,
                   std::span<std::byte* const> outputs) {
  alignas(64) T block[kBlockElements];
  for (std::int64_t done = 0; done < count; done += kBlockElements) {
    const std::int64_t size = std::min(kBlockElements, count - done);
    if (reduction.tree) {
      in_tree<T, Op>(inputs, first + done, size, block);
    } else {
      in_line<T, Op>(inputs, first + done, size, block);
    }
    const std::size_t num_bytes = static_cast<std::size_t>(size) * sizeof(T);
    for (std::byte* output : outputs) {
      std::byte* target = output + static_cast<std::size_t>(done) * sizeof(T);
      if (reduction.stream) {
        streaming_copy(target, reinterpret_cast<const std::byte*>(block), num_bytes);
      } else {
        std::memcpy(target, block, num_bytes);
      }
    }
  }
  if (reduction.stream) streaming_fence();
}

template <typename T>
void reduce_type(const Reduction& reduction,
                 Inputs inputs,
                 std::int64_t first,
                 std::int64_t count,
                 std::span<std::byte* const> outputs) {
  switch (reduction.op) {
    case ReduceOp::kSum:
      return reduce_blocks<T, Sum>(reduction, inputs, first, count, outputs);
    case ReduceOp::kMax:
      return reduce_blocks<T, Max>(reduction, inputs, first, count, outputs);
  }
}

}  // namespace

void reduce(const Reduction& reduction,
            std::span<const std::byte* const> inputs,
            std::int64_t first,
            std::int64_t count,
            std::span<std::byte* const> outputs) {
  switch (reduction.dtype) {
    case DType::kF64:
      return reduce_type<double>(reduction, inputs, first, count, outputs);
    case DType::kF32:
      return reduce_type<float>(reduction, inputs, first, count, outputs);
    case DType::kBF16:
      return reduce_type<BF16>(reduction, inputs, first, count, outputs);
    case DType::kI64:
      return reduce_type<std::int64_t>(reduction, inputs, first, count, outputs);
  }
}

}  // namespace lockstep::backends
