// Causal attention of every head of every sample: softmax(q kᵀ / sqrt(D)) v over positions u <= s.
#pragma once

#include "matrix/reference/heads.h"

namespace lockstep::matrix {

struct CoreAttention {
  Matrix out;            // [T, Q D]
  Matrix probabilities;  // [B Q S, S], 0 where u > s
};

CoreAttention core_attention(const Heads& heads, const HeadSizes& sizes);

// The gradients of q, k and v.
Heads core_attention_backward(const Matrix& dout,
                              const CoreAttention& attention,
                              const Heads& heads,
                              const HeadSizes& sizes);

}  // namespace lockstep::matrix
