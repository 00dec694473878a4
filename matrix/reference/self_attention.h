// The attention of a layer with its norm and residual: x + proj(core_attention(qkv(norm(x)))).
//
// Between qkv and core_attention each head of q and k is normed, where the model has q/k norms, and
// then turned by its position, where it has rope.
#pragma once

#include <string>

#include "matrix/reference/core_attention.h"
#include "matrix/reference/linear.h"
#include "matrix/reference/norm.h"
#include "matrix/reference/rotary.h"
#include "matrix/reference/trace.h"

namespace lockstep::matrix {

// What all layers share.
struct AttentionSetting {
  HeadSizes sizes;
  bool qk_norm = false;
  Rotary rotary;
};

struct AttentionWeights {
  NormWeights norm;
  LinearWeights qkv;
  NormWeights q_norm;  // of q/k norms
  NormWeights k_norm;
  LinearWeights proj;
};

struct AttentionGradients {
  NormGradients norm;
  LinearGradients qkv;
  NormGradients q_norm;
  NormGradients k_norm;
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

// Adds the block's output to x; activations are traced under `prefix`.
AttentionSaved self_attention(Matrix& x_TH,
                              const AttentionSetting& setting,
                              const AttentionWeights& weights,
                              const std::string& prefix,
                              Trace& trace);

// Turns the gradient of the output into that of the input, and adds to the weights' gradients.
void self_attention_backward(Matrix& dx_TH,
                             const AttentionSaved& saved,
                             const AttentionSetting& setting,
                             const AttentionWeights& weights,
                             const AttentionGradients& gradients);

}  // namespace lockstep::matrix
