// Norms over the last dim: y = x / sqrt(mean(x^2) + eps) * g, and
// y = (x - mean(x)) / sqrt(var(x) + eps) * g + b. Statistics are of the accumulation type.
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

struct LayerNormWeights {
  Tensor g;
  Tensor b;
};
struct LayerNormResult {
  Tensor y;
  Tensor mean_T;  // saved for backward
  Tensor inverse_std_T;
};

LayerNormResult layer_norm(const OpContext& ops,
                           const Tensor& x,
                           const LayerNormWeights& weights,
                           double eps);

// What backward needs of the forward pass.
struct LayerNormSaved {
  Tensor x;
  Tensor g;
  Tensor mean_T;
  Tensor inverse_std_T;
};
Tensor layer_norm_backward_input(const OpContext& ops,
                                 const LayerNormSaved& saved,
                                 const Tensor& dy);
Tensor layer_norm_backward_weight(const OpContext& ops,
                                  const LayerNormSaved& saved,
                                  const Tensor& dy);

}  // namespace lockstep
