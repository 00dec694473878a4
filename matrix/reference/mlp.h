// The MLP of a layer with its norm and residual: x + D (act(norm(x) w1ᵀ + b1) w2ᵀ + b2).
//
// act is silu(a), or silu(gate) * up where w1's rows are [gate; up]. D is dropout's.
#pragma once

#include <string>

#include "matrix/reference/linear.h"
#include "matrix/reference/norm.h"
#include "matrix/reference/pass.h"

namespace lockstep::matrix {

struct MlpWeights {
  std::string prefix;  // of names of activations and of dropout's site
  Mlp kind = Mlp::kPlain;
  NormWeights norm;
  LinearWeights fc1;
  LinearWeights fc2;
};

struct MlpGradients {
  NormGradients norm;
  LinearGradients fc1;
  LinearGradients fc2;
};

// What the backward reads again.
struct MlpSaved {
  NormResult norm;
  Matrix a;           // fc1's output: [T, F], or [gate | up] of a gated one
  Matrix sigmoid_TF;  // of a, or of the gate
  Matrix z_TF;        // after the activation
};

// Adds the block's output to x.
MlpSaved mlp(Matrix& x_TH, const MlpWeights& weights, Pass& pass);

// Turns the gradient of the output into that of the input, and adds to the weights' gradients.
void mlp_backward(Matrix& dx_TH,
                  const MlpSaved& saved,
                  const MlpWeights& weights,
                  const Pass& pass,
                  const MlpGradients& gradients);

}  // namespace lockstep::matrix
