// What a tensor of reals holds, widened to double, for comparisons.
#pragma once

#include <vector>

#include "core/base/errors.h"
#include "core/tensor/bfloat16.h"
#include "core/tensor/tensor.h"

namespace lockstep::test {

inline double value_at(const Tensor& tensor, std::int64_t index) {
  switch (tensor.dtype) {
    case DType::kF64:
      return tensor.data<double>()[index];
    case DType::kF32:
      return static_cast<double>(tensor.data<float>()[index]);
    case DType::kBF16:
      return static_cast<double>(widened(tensor.data<BF16>()[index]));
    case DType::kI64:
      break;
  }
  throw InternalError("a tensor of integers holds no reals");
}

inline std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(value_at(tensor, i));
  return values;
}

}  // namespace lockstep::test
