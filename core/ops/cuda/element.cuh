// Element types in the CUDA kernels, as on the CPU: arithmetic in the accumulation type, one
// rounding at each store. And how a kernel is started.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/base/errors.h"
#include "core/tensor/bfloat16.h"
#include "core/tensor/device.h"

namespace lockstep::cuda {

template <typename T>
using Accumulated = std::conditional_t<std::is_same_v<T, BF16>, float, T>;

template <typename T>
T* elements(const Buffer& buffer) {
  return reinterpret_cast<T*>(buffer.bytes());
}

// An element as its accumulation type; that of a BF16 is in core/tensor/bfloat16.h.
constexpr double widened(double x) { return x; }
constexpr float widened(float x) { return x; }
using lockstep::widened;

template <typename T>
constexpr T rounded(Accumulated<T> x) {
  if constexpr (std::is_same_v<T, BF16>) {
    return rounded_to_bf16(x);
  } else {
    return x;
  }
}

template <typename T>
struct ElementType {
  using Type = T;
};

// Calls body(ElementType<T>) with the type of a buffer's reals.
template <typename Body>
void with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF64:
      return body(ElementType<double>{});
    case DType::kF32:
      return body(ElementType<float>{});
    case DType::kBF16:
      return body(ElementType<BF16>{});
    case DType::kI64:
      break;
  }
  throw InternalError("no kernel computes on elements of type " + std::string(name_of(dtype)));
}

// Calls body(ElementType<Bits>) with an integer of an element's size: for what moves elements of
// any type as they are.
template <typename Body>
void with_bits(DType dtype, const Body& body) {
  switch (element_bytes(dtype)) {
    case 8:
      return body(ElementType<std::uint64_t>{});
    case 4:
      return body(ElementType<std::uint32_t>{});
    case 2:
      return body(ElementType<std::uint16_t>{});
    default:
      throw InternalError("no kernel moves elements of type " + std::string(name_of(dtype)));
  }
}

inline constexpr int kThreads = 256;

inline cudaStream_t stream_of(const LaunchTarget& target) {
  return static_cast<cudaStream_t>(target.native_stream);
}

template <typename Body>
__global__ void each_kernel(std::int64_t count, Body body) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    body(i);
  }
}

// body(i) for each i < count, a thread each.
template <typename Body>
void for_each(const LaunchTarget& target, std::int64_t count, Body body) {
  constexpr std::int64_t kMaxBlocks = 4096;
  if (count == 0) return;
  const std::int64_t blocks = std::min(kMaxBlocks, (count + kThreads - 1) / kThreads);
  each_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream_of(target)>>>(count, body);
}

}  // namespace lockstep::cuda
