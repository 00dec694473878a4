// What a tensor of doubles holds, for comparisons.
#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace lockstep::test {

inline std::vector<double> values_of(const Tensor& tensor) {
  return {tensor.data<double>(), tensor.data<double>() + tensor.num_elements()};
}

}  // namespace lockstep::test
