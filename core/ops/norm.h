// RMS norm over the last dim: y = x / sqrt(mean(x^2) + eps) * g.
#pragma once

#include "core/ops/context.h"

namespace lockstep {

struct RmsNormResult {
  Tensor y;
  Tensor inverse_rms_T;  // saved for backward
};

RmsNormResult rms_norm(const OpContext& ops, const Tensor& x, const Tensor& g, double eps);

// What backward needs of the forward pass.
struct RmsNormSaved {
  Tensor x;
  Tensor g;
  Tensor inverse_rms_T;
};
Tensor rms_norm_backward_input(const OpContext& ops, const RmsNormSaved& saved, const Tensor& dy);
Tensor rms_norm_backward_weight(const OpContext& ops, const RmsNormSaved& saved, const Tensor& dy);

}  // namespace lockstep
