// Numbers about a tensor: [1] in f64 whatever the tensor's type, so that counts are exact.
#pragma once

#include "core/ops/context.h"

namespace lockstep {

// Sum of x^2 in the device's own, fixed order.
Tensor sum_of_squares(const OpContext& ops, const Tensor& x, std::string_view label);
// How many elements are exactly 0.
Tensor count_zeros(const OpContext& ops, const Tensor& x, std::string_view label);

}  // namespace lockstep
