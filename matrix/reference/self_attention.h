// The attention of a layer with its norm and residual: x + D proj(core_attention(qkv(norm(x)))).
//
// Between qkv and core_attention each head of q and k is normed, where the model has q/k norms, and
// then turned by its place in its document, where it has rope. D is dropout's.
#pragma once

#include <span>
#include <string>

#include "matrix/reference/core_attention.h"
#include "matrix/reference/linear.h"
#include "matrix/reference/norm.h"
#include "matrix/reference/pass.h"

namespace lockstep::matrix {

struct AttentionWeights {
  std::string prefix;  // of names of activations and of dropout's sites
  NormWeights norm;
  LinearWeights qkv;
  NormWeights q_norm;  // of q/k norms
  NormWeights k_norm;
  std::span<const double> sink_Q;  // of a model with sinks
  LinearWeights proj;
};

struct AttentionGradients {
  NormGradients norm;
  LinearGradients qkv;
  NormGradients q_norm;
  NormGradients k_norm;
  std::span<double> sink_Q;
  LinearGradients proj;
};

// What the backward reads again.
struct AttentionSaved {
  NormResult norm;
  Heads heads;  // as core attention took them
  NormResult q_norm;
  NormResult k_norm;
  CoreAttention core;
};

// Adds the block's output to x.
AttentionSaved self_attention(Matrix& x_TH, const AttentionWeights& weights, Pass& pass);

// Turns the gradient of the output into that of the input, and adds to the weights' gradients.
void self_attention_backward(Matrix& dx_TH,
                             const AttentionSaved& saved,
                             const AttentionWeights& weights,
                             const Pass& pass,
                             const AttentionGradients& gradients);

}  // namespace lockstep::matrix
