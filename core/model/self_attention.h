// Self-attention of one layer: norm, fused column-parallel projection, q/k norm, RoPE, causal
// grouped-query attention on this rank's heads, row-parallel projection (semantics, section 2.9).
//
// Rank t owns query heads [t nq / tp, (t + 1) nq / tp). With fewer kv heads than tp a rank's rows
// of linear_qkv are a piece of a kv group: the pieces are gathered, and the ranks that share a
// group each take its k and v and their own part of its queries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/norm_layer.h"
#include "core/parallel/linear.h"

namespace lockstep {

class SelfAttention {
 public:
  // `name` is decoder.layers.0.self_attention.
  SelfAttention(const RankContext& context,
                const Case& c,
                const NamedParameters& parameters,
                const std::string& name);

  // What is to be added to the residual stream x. Tables are empty where the model has no RoPE.
  Variable forward(const RankContext& context,
                   Tape& tape,
                   const Variable& x,
                   const RopeTables& tables,
                   std::vector<Tensor>& trace) const;

 private:
  // This rank's heads out of its columns of the fused projection.
  QkvVariables own_heads(const RankContext& context, Tape& tape, const Variable& qkv) const;
  Variable normed_heads(Tape& tape, const Variable& x, const std::optional<NormLayer>& norm) const;

  AttentionSizes sizes_;        // of this rank
  std::int64_t queries_;        // query heads of one kv group
  std::int64_t group_sharers_;  // ranks that share a kv group
  NormLayer norm_;
  ColumnParallelLinear linear_qkv_;
  MappingSite gather_qkv_;
  std::optional<NormLayer> q_norm_;
  std::optional<NormLayer> k_norm_;
  RowParallelLinear linear_proj_;
};

}  // namespace lockstep
