// Linear map without bias: y = x W^T, x [..., in], W [out, in], y [..., out].
#pragma once

#include "core/ops/context.h"

namespace lockstep {

Shape linear_shape(const Shape& x, const Shape& weight);
Tensor linear(const OpContext& ops, const Tensor& x, const Tensor& weight);
// dx = dy W
Tensor linear_backward_input(const OpContext& ops, const Tensor& dy, const Tensor& weight);
// dW = dy^T x
Tensor linear_backward_weight(const OpContext& ops, const Tensor& dy, const Tensor& x);

}  // namespace lockstep
