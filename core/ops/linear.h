// Linear map: y = x W^T, x [..., in], W [out, in], y [..., out]; and the bias apart from it.
#pragma once

#include "core/ops/context.h"

namespace lockstep {

Tensor linear(const OpContext& ops, const Tensor& x, const Tensor& weight);

// What backward needs of the forward pass: the weight for the input's gradient, x for the weight's.
struct LinearSaved {
  Tensor x;
  Tensor weight;
};
// dx = dy W
Tensor linear_backward_input(const OpContext& ops, const LinearSaved& saved, const Tensor& dy);
// dW = dy^T x
Tensor linear_backward_weight(const OpContext& ops, const LinearSaved& saved, const Tensor& dy);

// y = x + b, b [out] to every row.
Tensor add_bias(const OpContext& ops, const Tensor& x, const Tensor& bias);
// db [out]: the sum over the rows of dy.
Tensor add_bias_backward_bias(const OpContext& ops, const Tensor& dy);

}  // namespace lockstep
