// Element types in the CPU kernels: arithmetic in the accumulation type, one rounding at each
// store.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/errors.h"
#include "core/tensor/bfloat16.h"
#include "core/tensor/device.h"

namespace lockstep::cpu {

template <typename T>
using Accumulated = std::conditional_t<std::is_same_v<T, BF16>, float, T>;

template <typename T>
T* elements(const Buffer& buffer) {
  return reinterpret_cast<T*>(buffer.bytes());
}

// An element as its accumulation type; that of a BF16 is in core/tensor/bfloat16.h.
inline double widened(double x) { return x; }
inline float widened(float x) { return x; }

template <typename T>
T rounded(Accumulated<T> x) {
  if constexpr (std::is_same_v<T, BF16>) {
    return rounded_to_bf16(x);
  } else {
    return x;
  }
}

// From a double in one rounding, where a detour over float would be two.
template <typename T>
T rounded_once(double x);
template <>
double rounded_once<double>(double x);
template <>
float rounded_once<float>(double x);
template <>
BF16 rounded_once<BF16>(double x);

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

// Sums that end in a buffer, zero at first: kept in it where it has the accumulation type.
template <typename T>
class Sums {
 public:
  explicit Sums(const Buffer& out) : out_(elements<T>(out)) {
    const auto count = static_cast<std::size_t>(out.count);
    if constexpr (std::is_same_v<T, Accumulated<T>>) {
      std::fill_n(out_, count, T{0});
    } else {
      wide_.assign(count, Accumulated<T>{0});
    }
  }

  Accumulated<T>* data() {
    if constexpr (std::is_same_v<T, Accumulated<T>>) {
      return out_;
    } else {
      return wide_.data();
    }
  }
  void store() {
    for (std::size_t i = 0; i < wide_.size(); ++i) out_[i] = rounded<T>(wide_[i]);
  }

 private:
  T* out_;
  std::vector<Accumulated<T>> wide_;
};

}  // namespace lockstep::cpu
