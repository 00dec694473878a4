// Vocabulary-parallel layers.
#include "core/parallel/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
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

std::string to_text(const CrossEntropyPlan& plan) {
  std::string text = fmt::format("cross_entropy: {} logits from tp * {} on, {} real, ",
                                 plan.width,
                                 plan.stride,
                                 plan.num_real);
  text += fmt::format("smoothing {} over {}", plan.smoothing.weight, plan.smoothing.vocabulary);
  if (plan.max_group.has_value()) text += fmt::format(", max over {}", name_of(*plan.max_group));
  text += "\n";
  for (const LogitSum& sum : plan.sums) {
    text += fmt::format("{}: statistics {} to {} over {}\n",
                        sum.label,
                        sum.first,
                        sum.first + sum.count - 1,
                        name_of(sum.group));
  }
  return text;
}

namespace {

VocabularyShard own_logits(const RankContext& context, const CrossEntropyPlan& plan) {
  const std::int64_t first = plan.stride * context.group_rank(GroupKind::kTp).value;
  return {.first_row = first,
          .num_real = std::clamp<std::int64_t>(plan.num_real - first, 0, plan.width)};
}

}  // namespace

VocabParallelCrossEntropy::VocabParallelCrossEntropy(const RankContext& context,
                                                     const CrossEntropyPlan& plan)
    : plan_(plan), shard_(own_logits(context, plan)) {}

// With m = max z, p = z[label] - m, Q = sum exp(z - m) and L = sum (z - m), all over all shards,
// and a smoothing of weight w over V ids: loss = log Q - (1 - w) p - w L / V.
Variable VocabParallelCrossEntropy::forward(const RankContext& context,
                                            Tape& tape,
                                            const Variable& logits,
                                            const Tensor& labels) const {
  const OpContext& ops = context.ops;
  const ShardLogits own{.logits = logits.value, .labels = labels, .shard = shard_};
  Tensor max_T = logits_max(ops, own);
  if (plan_.max_group.has_value()) {
    const CollectiveSite site{.group = *plan_.max_group, .label = "forward.max.cross_entropy"};
    max_T = all_reduced(context, site, max_T, ReduceOp::kMax);
  }
  const Tensor stats_3T = logits_stats(ops, own, max_T);
  for (const LogitSum& sum : plan_.sums) {
    const CollectiveSite site{.group = sum.group, .label = sum.label};
    all_reduce(context, site, stats_3T.rows(sum.first, sum.count));
  }
  return tape.record(
      {.label = "cross_entropy",
       .inputs = {logits},
       .outputs = {token_loss(ops, stats_3T, plan_.smoothing)},
       .saved = {logits.value, labels, max_T, stats_3T},
       .backward_input = [shard = shard_, smoothing = plan_.smoothing](
                             const BackwardCall& call) -> std::vector<Tensor> {
         const LogitsSaved saved{
             .logits = {.logits = call.saved[0], .labels = call.saved[1], .shard = shard},
             .max_T = call.saved[2],
             .stats_3T = call.saved[3]};
         return {logits_backward(call.ops, saved, smoothing, call.output_gradients[0])};
       }})[0];
}

}  // namespace lockstep
