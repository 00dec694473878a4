// Self-attention of one layer: norm, fused column-parallel projection, q/k norm, RoPE, causal
// grouped-query attention of this rank's heads, row-parallel projection (semantics, section 2.9).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/attention_heads.h"
#include "core/model/context_attention.h"
#include "core/model/norm_layer.h"
#include "core/parallel/linear.h"

namespace lockstep {

struct AttentionPlans {
  const HeadPlan& heads;
  const ContextPlan& context;
  const DropoutPlan& dropout;
};

class SelfAttention {
 public:
  // `name` is decoder.layers.0.self_attention. The plans outlive the layer.
  SelfAttention(const RankContext& context,
                const Case& c,
                const AttentionPlans& plans,
                const NamedParameters& parameters,
                const std::string& name);

  // What is to be added to the residual stream x. The tables outlive the tape.
  Variable forward(const RankContext& context,
                   Tape& tape,
                   const Variable& x,
                   const SequenceTables& tables,
                   std::vector<Tensor>& trace) const;

 private:
  // This rank's heads out of its columns of the fused projection.
  QkvVariables own_heads(const RankContext& context, Tape& tape, const Variable& qkv) const;
  Variable normed_heads(Tape& tape, const Variable& x, const std::optional<NormLayer>& norm) const;

  const HeadPlan& heads_;
  AttentionSizes sizes_;  // of this rank
  NormLayer norm_;
  ColumnParallelLinear linear_qkv_;
  MappingSite gather_qkv_;
  std::optional<NormLayer> q_norm_;
  std::optional<NormLayer> k_norm_;
  ContextAttention core_;
  RowParallelLinear linear_proj_;
};

}  // namespace lockstep
