// Vocabulary-parallel layers.
#include "core/parallel/vocabulary.h"

#include <utility>

namespace lockstep {

VocabParallelEmbedding::VocabParallelEmbedding(const std::string& name,
                                               Parameter weight,
                                               VocabularyShard shard)
    : reduce_(MappingKind::kReduce, GroupKind::kTp, name),
      weight_(std::move(weight)),
      shard_(shard) {}

Variable VocabParallelEmbedding::forward(const RankContext& context,
                                         Tape& tape,
                                         const Tensor& ids) const {
  return apply(context, tape, reduce_, embedding(tape, ids, weight_, shard_));
}

VocabParallelCrossEntropy::VocabParallelCrossEntropy(const std::string& name, VocabularyShard shard)
    : max_label_("forward.max." + name), sum_label_("forward.sum." + name), shard_(shard) {}

// loss = log Q - p with m = max z, p = z[label] - m, Q = sum exp(z - m); m, p and Q over all
// shards.
Variable VocabParallelCrossEntropy::forward(const RankContext& context,
                                            Tape& tape,
                                            const Variable& logits,
                                            const Tensor& labels) const {
  const OpContext& ops = context.ops;
  const ShardLogits own{.logits = logits.value, .labels = labels, .shard = shard_};
  Tensor max_T = logits_max(ops, own);
  const bool shared = context.group_size(GroupKind::kTp) > 1;
  if (shared) {
    const CollectiveSite site{.group = GroupKind::kTp, .label = max_label_};
    max_T = all_reduced(context, site, max_T, ReduceOp::kMax);
  }
  Tensor stats_2T = logits_stats(ops, own, max_T);
  if (shared) {
    const CollectiveSite site{.group = GroupKind::kTp, .label = sum_label_};
    stats_2T = all_reduced(context, site, stats_2T);
  }
  return tape.record(
      {.label = "cross_entropy",
       .inputs = {logits},
       .outputs = {token_loss(ops, stats_2T)},
       .saved = {logits.value, labels, max_T, stats_2T},
       .backward_input = [shard = shard_](const BackwardCall& call) -> std::vector<Tensor> {
         const LogitsSaved saved{
             .logits = {.logits = call.saved[0], .labels = call.saved[1], .shard = shard},
             .max_T = call.saved[2],
             .stats_2T = call.saved[3]};
         return {logits_backward(call.ops, saved, call.output_gradients[0])};
       }})[0];
}

}  // namespace lockstep
