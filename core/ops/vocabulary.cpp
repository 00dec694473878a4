// Vocabulary ops: launches and shapes.
#include "core/ops/vocabulary.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

LogitsArgs arguments(const ShardLogits& logits) {
  LOCKSTEP_CHECK(logits.shard.num_real >= 0 && logits.shard.num_real <= logits.logits.shape.last(),
                 "more real columns than the shard " + to_text(logits.logits.shape) + " has");
  return {.logits_TV = logits.logits.buffer(),
          .labels_T = logits.labels.buffer(),
          .first_row = logits.shard.first_row,
          .num_real = logits.shard.num_real};
}

}  // namespace

Tensor embedding(const OpContext& ops,
                 const Tensor& ids,
                 const Tensor& weight,
                 const VocabularyShard& shard) {
  const Tensor out = new_tensor(ops, {ids.num_elements(), weight.shape.last()}, "embedding.out");
  const EmbeddingArgs args{.ids_T = ids.buffer(),
                           .weight_VH = weight.buffer(),
                           .out_TH = out.buffer(),
                           .first_row = shard.first_row};
  launch_kernel(ops,
                "op.embedding",
                {.reads = {args.ids_T, args.weight_VH}, .writes = {args.out_TH}},
                ops.kernels.embedding,
                args);
  return out;
}

Tensor embedding_backward(const OpContext& ops, const EmbeddingSaved& saved, const Tensor& dout) {
  const Tensor dweight = new_tensor(ops, saved.weight_shape, "embedding.dweight");
  const EmbeddingBackwardArgs args{.ids_T = saved.ids.buffer(),
                                   .dout_TH = dout.buffer(),
                                   .dweight_VH = dweight.buffer(),
                                   .first_row = saved.shard.first_row};
  launch_kernel(ops,
                "op.embedding_backward",
                {.reads = {args.ids_T, args.dout_TH},
                 .writes = {args.dweight_VH},
                 .flops = dout.num_elements()},
                ops.kernels.embedding_backward,
                args);
  return dweight;
}

Tensor logits_max(const OpContext& ops, const ShardLogits& logits) {
  const Tensor max_T = new_tensor(ops, {logits.labels.num_elements()}, "logits.max");
  const LogitsMaxArgs args{.logits = arguments(logits), .max_T = max_T.buffer()};
  launch_kernel(ops,
                "op.logits_max",
                {.reads = {args.logits.logits_TV},
                 .writes = {args.max_T},
                 .flops = logits.logits.num_elements()},
                ops.kernels.logits_max,
                args);
  return max_T;
}

Tensor logits_stats(const OpContext& ops, const ShardLogits& logits, const Tensor& max_T) {
  const Tensor stats = new_tensor(ops, {2, max_T.num_elements()}, "logits.stats");
  const LogitsStatsArgs args{
      .logits = arguments(logits), .max_T = max_T.buffer(), .stats_2T = stats.buffer()};
  launch_kernel(ops,
                "op.logits_stats",
                {.reads = {args.logits.logits_TV, args.logits.labels_T, args.max_T},
                 .writes = {args.stats_2T},
                 .flops = 3 * logits.logits.num_elements()},
                ops.kernels.logits_stats,
                args);
  return stats;
}

Tensor token_loss(const OpContext& ops, const Tensor& stats_2T) {
  const Tensor loss = new_tensor(ops, {stats_2T.shape.last()}, "loss.tokens");
  const TokenLossArgs args{.stats_2T = stats_2T.buffer(), .loss_T = loss.buffer()};
  launch_kernel(
      ops,
      "op.token_loss",
      {.reads = {args.stats_2T}, .writes = {args.loss_T}, .flops = 2 * loss.num_elements()},
      ops.kernels.token_loss,
      args);
  return loss;
}

Tensor logits_backward(const OpContext& ops, const LogitsSaved& saved, const Tensor& dloss_T) {
  const Tensor dlogits = new_tensor(ops, saved.logits.logits.shape, "logits.gradient");
  const LogitsBackwardArgs args{.logits = arguments(saved.logits),
                                .max_T = saved.max_T.buffer(),
                                .stats_2T = saved.stats_2T.buffer(),
                                .dloss_T = dloss_T.buffer(),
                                .dlogits_TV = dlogits.buffer()};
  launch_kernel(
      ops,
      "op.logits_backward",
      {.reads =
           {args.logits.logits_TV, args.logits.labels_T, args.max_T, args.stats_2T, args.dloss_T},
       .writes = {args.dlogits_TV},
       .flops = 4 * dlogits.num_elements()},
      ops.kernels.logits_backward,
      args);
  return dlogits;
}

}  // namespace lockstep
