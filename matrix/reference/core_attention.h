// Causal attention of every head of every sample, document by document: sum over u of D p[u] v[u],
// where p = softmax(q kᵀ / sqrt(head_dim)) over the keys seen.
//
// A query sees the keys of its own document up to itself, of which a sliding window leaves the
// last. A sink is one more logit of the softmax, whose share goes nowhere. D is dropout's.
#pragma once

#include <span>
#include <vector>

#include "matrix/reference/dropout.h"
#include "matrix/reference/heads.h"

namespace lockstep::matrix {

struct CoreAttentionSetting {
  HeadSizes sizes;
  std::int64_t sliding_window = 0;         // 0: none
  std::span<const double> sink_Q;          // empty: none
  std::span<const std::int64_t> places_T;  // of each token in its document
  std::int64_t first_token = 0;            // among the tokens of all steps
  DropoutSite dropout;
};

struct CoreAttention {
  // What the values were multiplied by.
  const Matrix& weights() const { return dropped.rows > 0 ? dropped : probabilities; }

  Matrix out;                         // [T, Q D]
  Matrix probabilities;               // [B Q S, S], 0 where nothing is seen
  Matrix dropped;                     // of the probabilities; none without dropout
  std::vector<double> sink_shares_R;  // of each row of the probabilities, 0 without a sink
};

CoreAttention core_attention(const Heads& heads, const CoreAttentionSetting& setting);

// Returns the gradients of q, k and v, and adds to the sink's.
Heads core_attention_backward(const Matrix& dout,
                              const CoreAttention& attention,
                              const Heads& heads,
                              const CoreAttentionSetting& setting,
                              std::span<double> dsink_Q);

}  // namespace lockstep::matrix
