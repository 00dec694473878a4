// Causal grouped-query attention on local heads, and what prepares its inputs.
//
// T = seq * batch rows, sequence-major: row t is token t / batch of sample t % batch. W is the
// width of a fused projection: groups of [q heads | k | v].
#pragma once

#include <span>

#include "core/ops/context.h"

namespace lockstep {

struct QkvGroups {
  std::int64_t groups = 1;   // kv heads
  std::int64_t queries = 1;  // query heads of each
  std::int64_t head_dim = 0;
};
struct Qkv {
  Tensor q;  // [T, groups * queries * head_dim]
  Tensor k;  // [T, groups * head_dim]
  Tensor v;
};
// From and to the fused [T, W]; each is the other's adjoint.
Qkv split_qkv(const OpContext& ops, const Tensor& qkv, const QkvGroups& groups);
Tensor join_qkv(const OpContext& ops, const Qkv& parts, const QkvGroups& groups);

// cos and sin of position * theta^(-2i / head_dim), [positions, head_dim / 2], of the accumulation
// type (semantics, section 2.10).
struct RopeTables {
  Tensor cos;
  Tensor sin;
};
RopeTables rope_tables(const OpContext& ops,
                       std::span<const std::int64_t> positions,
                       std::int64_t head_dim,
                       double theta);
// Turns each head of x [T, heads * head_dim] by the angles of its row, or back.
enum class RopeDirection { kForward, kBack };
Tensor rope(const OpContext& ops,
            const Tensor& x,
            const RopeTables& tables,
            std::int64_t batch,
            RopeDirection direction);

struct AttentionResult {
  Tensor out;            // as q
  Tensor probabilities;  // [batch, heads, seq, seq], saved for backward
};
AttentionResult attention(const OpContext& ops, const Qkv& inputs, const AttentionSizes& sizes);

// What backward needs of the forward pass.
struct AttentionSaved {
  Qkv inputs;
  Tensor probabilities;
};
Qkv attention_backward(const OpContext& ops,
                       const AttentionSaved& saved,
                       const AttentionSizes& sizes,
                       const Tensor& dout);

}  // namespace lockstep
