// Vocabulary-parallel layers.
#include "core/parallel/vocabulary.h"

#include <utility>

namespace lockstep {

VocabParallelEmbedding::VocabParallelEmbedding(const RankContext& context,
                                               const std::string& name,
                                               Parameter weight,
                                               VocabularyShard shard)
    : leave_(context.mappings.leave, GroupKind::kTp, name),
      weight_(std::move(weight)),
      shard_(shard) {}

Variable VocabParallelEmbedding::forward(const RankContext& context,
                                         Tape& tape,
                                         const Tensor& ids) const {
  return apply(context, tape, leave_, embedding(tape, ids, weight_, shard_));
}

VocabParallelCrossEntropy::VocabParallelCrossEntropy(const std::string& name,
                                                     LogitsCut cut,
                                                     VocabularyShard shard,
                                                     LabelSmoothing smoothing)
    : max_label_("forward.max." + name),
      sum_label_("forward.sum." + name),
      cut_(cut),
      shard_(shard),
      smoothing_(smoothing) {}

// With m = max z, p = z[label] - m, Q = sum exp(z - m) and L = sum (z - m), all over all shards,
// and a smoothing of weight w over V ids: loss = log Q - (1 - w) p - w L / V.
Variable VocabParallelCrossEntropy::forward(const RankContext& context,
                                            Tape& tape,
                                            const Variable& logits,
                                            const Tensor& labels) const {
  const OpContext& ops = context.ops;
  const ShardLogits own{.logits = logits.value, .labels = labels, .shard = shard_};
  Tensor max_T = logits_max(ops, own);
  const bool shared = cut_ == LogitsCut::kOverTp && context.group_size(GroupKind::kTp) > 1;
  if (shared) {
    const CollectiveSite site{.group = GroupKind::kTp, .label = max_label_};
    max_T = all_reduced(context, site, max_T, ReduceOp::kMax);
  }
  Tensor stats_3T = logits_stats(ops, own, max_T);
  if (shared) {
    const CollectiveSite site{.group = GroupKind::kTp, .label = sum_label_};
    stats_3T = all_reduced(context, site, stats_3T);
  }
  return tape.record(
      {.label = "cross_entropy",
       .inputs = {logits},
       .outputs = {token_loss(ops, stats_3T, smoothing_)},
       .saved = {logits.value, labels, max_T, stats_3T},
       .backward_input = [shard = shard_,
                          smoothing = smoothing_](const BackwardCall& call) -> std::vector<Tensor> {
         const LogitsSaved saved{
             .logits = {.logits = call.saved[0], .labels = call.saved[1], .shard = shard},
             .max_T = call.saved[2],
             .stats_3T = call.saved[3]};
         return {logits_backward(call.ops, saved, smoothing, call.output_gradients[0])};
       }})[0];
}

}  // namespace lockstep
