// What a tensor of reals holds in memory of the host, widened to double, for comparisons.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "core/base/errors.h"
#include "core/tensor/bfloat16.h"
#include "core/tensor/tensor.h"

namespace lockstep::test {

template <typename T>
T element_at(const std::byte* elements, std::int64_t index) {
  T element;
  std::memcpy(&element, elements + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return element;
}

inline double real_at(DType dtype, const std::byte* elements, std::int64_t index) {
  switch (dtype) {
    case DType::kF64:
      return element_at<double>(elements, index);
    case DType::kF32:
      return static_cast<double>(element_at<float>(elements, index));
    case DType::kBF16:
      return static_cast<double>(widened(element_at<BF16>(elements, index)));
    case DType::kI64:
      break;
  }
  throw InternalError("a tensor of integers holds no reals");
}

inline double value_at(const Tensor& tensor, std::int64_t index) {
  return real_at(tensor.dtype, tensor.buffer().bytes(), index);
}

inline std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(value_at(tensor, i));
  return values;
}

}  // namespace lockstep::test
