// Attention of a rank's heads to all tokens that they may see, wherever the plan of context
// parallelism finds those: its own sequence, other ranks' keys gathered or on a ring, or all tokens
// for some of its heads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/autograd/functions.h"
#include "core/model/attention_heads.h"
#include "core/model/context_plan.h"
#include "core/model/dropout_plan.h"
#include "core/model/sequence_tables.h"
#include "core/ops/attention_block.h"
#include "core/parallel/mappings.h"

namespace lockstep {

class ContextAttention {
 public:
  // `sizes` of this rank's own heads, `module` decoder.layers.0.self_attention.core_attention;
  // `sink` where the model has one. The plan outlives the layer.
  ContextAttention(const RankContext& context,
                   const Case& c,
                   const ContextPlan& plan,
                   const DropoutPlan& dropout,
                   const AttentionSizes& sizes,
                   const std::string& module,
                   std::optional<Parameter> sink);

  // The tables outlive the tape.
  Variable forward(const RankContext& context,
                   Tape& tape,
                   const QkvVariables& heads,
                   const SequenceTables& tables) const;

 private:
  // By ring step.
  struct RingLabels {
    std::vector<std::string> keys;       // forward.ring0.keys.<module>
    std::vector<std::string> gradients;  // backward.ring0.gradients.<module>
  };

  AttentionBlock block_of(const SequenceTables& tables) const;
  Tensor own_sink() const;
  Variable attend(const RankContext& context,
                  Tape& tape,
                  const QkvVariables& heads,
                  const SequenceTables& tables) const;
  AttentionState run_forward(const RankContext& context,
                             const Qkv& inputs,
                             const SequenceTables& tables) const;
  Qkv run_backward(const RankContext& context,
                   const BackwardCall& call,
                   const SequenceTables& tables) const;
  AttentionFinal final_of(const BackwardCall& call) const;
  void accumulate_sink(const BackwardCall& call, GradientSink& gradients) const;

  const ContextPlan& plan_;
  AttentionBlock block_;     // with this rank's heads as it attends with them
  std::int64_t sink_first_;  // of the rank's own heads, the first that it attends with
  std::optional<Parameter> sink_;
  MappingSite queries_to_heads_;
  MappingSite keys_to_heads_;
  MappingSite values_to_heads_;
  MappingSite gather_keys_;
  MappingSite gather_values_;
  MappingSite to_tokens_;
  std::vector<RingStep> forward_steps_;   // one where there is no ring
  std::vector<RingStep> backward_steps_;  // alike
  RingLabels forward_labels_;
  RingLabels backward_labels_;
};

}  // namespace lockstep
