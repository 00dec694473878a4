// Attention from any tokens to any tokens, over one block of keys after the other.
//
// Legend: T = S * batch query rows, U key tokens, Q and K the widths of local query and key heads.
// A softmax starts from nothing or from a sink, each block is merged into it, and the backward pass
// visits blocks again with the final log-sum-exp: in any order, on any rank.
#pragma once

#include "core/ops/attention.h"

namespace lockstep {

// A softmax under way: what its blocks gave so far. Both of the accumulation type.
struct AttentionState {
  Tensor out;  // [T, Q]
  Tensor lse;  // [T, heads]
};
// Tables of tokens (attention_args.h), [3, S] and [3, U].
struct TokenTables {
  Tensor queries;
  Tensor keys;
};
struct KeysAndValues {
  Tensor k;  // [U batch, K]
  Tensor v;
};

// Before any block; `sink` [heads] may be empty.
AttentionState attention_start(const OpContext& ops,
                               const Tensor& q,
                               const AttentionSizes& sizes,
                               const Tensor& sink);
// Adds a block to the state, in place.
void attention_block(const OpContext& ops,
                     const Tensor& q,
                     const KeysAndValues& kv,
                     const TokenTables& tokens,
                     const AttentionBlock& block,
                     const AttentionState& state);

// What backward needs of a finished softmax.
struct AttentionFinal {
  Tensor q;
  Tensor lse;    // [T, heads], final
  Tensor delta;  // [T, heads]
  Tensor dout;   // [T, Q]
};
// [T, heads]: sum over a head of dout out
Tensor attention_delta(const OpContext& ops,
                       const Tensor& out,
                       const Tensor& dout,
                       const AttentionSizes& sizes);
// Adds what a block gives to all three gradients, in place. They are of the accumulation type.
void attention_block_backward(const OpContext& ops,
                              const AttentionFinal& final,
                              const KeysAndValues& kv,
                              const TokenTables& tokens,
                              const AttentionBlock& block,
                              const Qkv& gradients);
// [heads], in the sink's type
Tensor attention_sink_backward(const OpContext& ops,
                               const Tensor& sink,
                               const Tensor& lse,
                               const Tensor& delta);

}  // namespace lockstep
