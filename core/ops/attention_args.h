// What the kernels of attention and dropout are given (kernels.h).
//
// Two ways lead to attention. `attention` is causal attention of whole sequences, which keeps its
// probabilities. The others attend from any tokens to any tokens, block of keys by block of keys,
// with a running log-sum-exp in place of probabilities (semantics, section 3): what context
// parallelism, packing, windows and sinks are made of.
#pragma once

#include <cstdint>

#include "core/tensor/device.h"

namespace lockstep {

// Causal attention. Row t is token t / batch of sample t % batch; query head h reads kv head
// h / (num_heads / num_kv_heads).
struct AttentionSizes {
  std::int64_t batch = 1;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  double scale = 1.0;  // of q k before the softmax
};
// P[b, h, s, u] = softmax over u <= s of scale q[s] k[u], 0 for u > s; out[s] = sum over u P v[u].
struct AttentionArgs {
  Buffer q_TQ;
  Buffer k_TK;
  Buffer v_TK;
  Buffer out_TQ;
  Buffer probabilities_BHSS;  // of the accumulation type
  AttentionSizes sizes;
};
struct AttentionBackwardArgs {
  Buffer q_TQ;
  Buffer k_TK;
  Buffer v_TK;
  Buffer probabilities_BHSS;
  Buffer dout_TQ;
  Buffer dq_TQ;
  Buffer dk_TK;
  Buffer dv_TK;
  AttentionSizes sizes;
};

// Elements that random_unit(seed, stream, index) leaves below the probability are dropped, the
// others multiplied by 1 / (1 - probability). With probability 0 nothing is drawn.
struct Dropout {
  double probability = 0.0;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

// out[t, j] = D x[t, j], where D is that of index rows[t] * width + first_column + j; rows[t] below
// 0 is padding, and is left as it is. x may be out.
struct DropoutArgs {
  Buffer x_TH;
  Buffer rows_T;  // integers
  Buffer out_TH;
  std::int64_t width = 0;
  std::int64_t first_column = 0;
  Dropout dropout;
};

// How queries see keys, and where dropout finds a probability: query row t is token t / batch of
// the block's S tokens and of sample t % batch; keys alike. Samples share the token tables.
struct AttentionBlock {
  AttentionSizes sizes;
  std::int64_t window = 0;  // keys that a query sees, its own included; 0: all before it
  Dropout dropout;
  // Index of a probability: ((first_token + sample * seq + query position) * all_heads + first_head
  // + head) * seq + key position.
  std::int64_t first_token = 0;
  std::int64_t seq = 0;
  std::int64_t first_head = 0;
  std::int64_t all_heads = 0;
};
// Rows of a table of tokens, [3, S] integers: a document's number, the token's place in it, and its
// position in the sample, -1 of padding.
struct AttentionTokens {
  Buffer queries_3S;
  Buffer keys_3U;
};
// lse[t, h] = sink[h]: a softmax that has only the sink.
struct AttentionSinkArgs {
  Buffer sink_H;
  Buffer lse_TH;  // of the accumulation type, as all that is called lse, delta or out_TQ here
};
// dsink[h] = - sum over t of exp(sink[h] - lse[t, h]) delta[t, h], with the final lse, in the order
// of t on a CPU and in an order that is the same each time on other devices.
struct AttentionSinkBackwardArgs {
  Buffer sink_H;
  Buffer lse_TH;
  Buffer delta_TH;
  Buffer dsink_H;
};
// Merges attention over U key tokens into what lse and out hold of other blocks (-inf, or a sink,
// and 0 at first). Query s sees key u where they are of one document, place[u] <= place[s] and,
// with a window, place[s] - place[u] < window. With z[u] = scale q[s] k[u] of the keys seen:
// lse' = log(exp lse + sum over u of exp z[u]);
// out' = exp(lse - lse') out + sum over u of exp(z[u] - lse') D[s, u] v[u], D of the dropout.
// Where nothing is seen both stay as they are.
struct AttentionBlockArgs {
  Buffer q_TQ;
  Buffer k_UK;
  Buffer v_UK;
  AttentionTokens tokens;
  Buffer lse_TH;
  Buffer out_TQ;
  AttentionBlock block;
};
// delta[t, h] = sum over the head's elements of dout out.
struct AttentionDeltaArgs {
  Buffer out_TQ;
  Buffer dout_TQ;  // of the activations' type
  Buffer delta_TH;
  AttentionSizes sizes;
};
// With the final lse, P[s, u] = exp(scale q[s] k[u] - lse[s]) of the keys seen, and 0 of others:
// dz[s, u] = scale P (D dout[s] v[u] - delta[s]);  dq[s] += sum over u of dz k[u];
// dk[u] += sum over s and the group's heads of dz q[s];  dv[u] += the same of P D dout[s].
// All three add to what is there, in the accumulation type.
struct AttentionBlockBackwardArgs {
  Buffer q_TQ;
  Buffer k_UK;
  Buffer v_UK;
  AttentionTokens tokens;
  Buffer dout_TQ;
  Buffer lse_TH;
  Buffer delta_TH;
  Buffer dq_TQ;
  Buffer dk_UK;
  Buffer dv_UK;
  AttentionBlock block;
};

}  // namespace lockstep
