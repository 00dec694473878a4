// The plain MLP of a layer with its norm and residual: x + silu(rms_norm(x) w1ᵀ) w2ᵀ.
#pragma once

#include <span>
#include <vector>

#include "matrix/reference/rms_norm.h"

namespace lockstep::matrix {

struct MlpWeights {
  std::span<const double> norm_H;
  std::span<const double> fc1_FH;
  std::span<const double> fc2_HF;
};

struct MlpGradients {
  std::span<double> norm_H;
  std::span<double> fc1_FH;
  std::span<double> fc2_HF;
};

// What the backward reads again.
struct MlpSaved {
  Matrix x_TH;
  RmsNormResult norm;
  Matrix a_TF;  // before the activation
  Matrix z_TF;  // after it
};

// Adds the block's output to x and saves for the backward.
MlpSaved mlp(Matrix& x_TH, const MlpWeights& weights, double eps);

// Turns the gradient of the output into that of the input, and adds to the weights' gradients.
void mlp_backward(Matrix& dx_TH,
                  const MlpSaved& saved,
                  const MlpWeights& weights,
                  const MlpGradients& gradients);

}  // namespace lockstep::matrix
