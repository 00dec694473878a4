// Fixed loops, element by element; a sum of bf16 is rounded after each hop.
#include "backends/gloo/reduction.h"

#include <cstdint>

#include "core/base/errors.h"
#include "core/comm/element_ops.h"

namespace lockstep::backends {
namespace {

template <typename T, typename Op>
void combine(void* output, const void* left, const void* right, std::size_t count) {
  T* results = static_cast<T*>(output);
  const T* lefts = static_cast<const T*>(left);
  const T* rights = static_cast<const T*>(right);
  for (std::size_t i = 0; i < count; ++i) results[i] = Op::of(lefts[i], rights[i]);
}

Combination sum_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {.combine = combine<double, Sum>};
    case DType::kF32:
      return {.combine = combine<float, Sum>};
    case DType::kBF16:
      return {.combine = combine<BF16, Sum>,
              .instead = "Gloo's exchange with a sum that is rounded to bf16 at each hop"};
    case DType::kI64:
      return {.combine = combine<std::int64_t, Sum>};
  }
  throw InternalError("unknown dtype");
}

Combination max_of(DType dtype) {
  constexpr std::string_view kKeepsNaN = "Gloo's exchange with a maximum that keeps NaN";
  switch (dtype) {
    case DType::kF64:
      return {.combine = combine<double, Max>, .instead = kKeepsNaN};
    case DType::kF32:
      return {.combine = combine<float, Max>, .instead = kKeepsNaN};
    case DType::kBF16:
      return {.combine = combine<BF16, Max>, .instead = kKeepsNaN};
    case DType::kI64:
      return {.combine = combine<std::int64_t, Max>};
  }
  throw InternalError("unknown dtype");
}

}  // namespace

Combination combination_of(DType dtype, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return sum_of(dtype);
    case ReduceOp::kMax:
      return max_of(dtype);
  }
  throw InternalError("unknown reduction");
}

}  // namespace lockstep::backends
