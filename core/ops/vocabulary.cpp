// Launches of vocabulary ops, and the shapes they take and give.
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

void check_main(const OpContext& ops, const Tensor& tensor, std::string_view what) {
  LOCKSTEP_CHECK(tensor.dtype == ops.main_dtype(),
                 std::string(what) + " are of type " + std::string(name_of(ops.main_dtype())) +
                     ", not " + std::string(name_of(tensor.dtype)));
}

}  // namespace

Tensor embedding(const OpContext& ops,
                 const Tensor& ids,
                 const Tensor& weight,
                 const VocabularyShard& shard) {
  const Tensor out =
      new_tensor(ops, weight.dtype, {ids.num_elements(), weight.shape.last()}, "embedding.out");
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
  const Tensor dweight = new_tensor(ops, dout.dtype, saved.weight_shape, "embedding.dweight");
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
  const Tensor max_T =
      new_tensor(ops, ops.main_dtype(), {logits.labels.num_elements()}, "logits.max");
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
  check_main(ops, max_T, "maxima");
  const Tensor stats = new_tensor(ops, ops.main_dtype(), {3, max_T.num_elements()}, "logits.stats");
  const LogitsStatsArgs args{
      .logits = arguments(logits), .max_T = max_T.buffer(), .stats_3T = stats.buffer()};
  launch_kernel(ops,
                "op.logits_stats",
                {.reads = {args.logits.logits_TV, args.logits.labels_T, args.max_T},
                 .writes = {args.stats_3T},
                 .flops = 4 * logits.logits.num_elements()},
                ops.kernels.logits_stats,
                args);
  return stats;
}

Tensor token_loss(const OpContext& ops, const Tensor& stats_3T, const LabelSmoothing& smoothing) {
  LOCKSTEP_CHECK(stats_3T.num_elements() == 3 * stats_3T.shape.last(),
                 "stats of shape " + to_text(stats_3T.shape) + " are not three for each token");
  const Tensor loss = new_tensor(ops, stats_3T.dtype, {stats_3T.shape.last()}, "loss.tokens");
  const TokenLossArgs args{
      .stats_3T = stats_3T.buffer(), .loss_T = loss.buffer(), .smoothing = smoothing};
  launch_kernel(
      ops,
      "op.token_loss",
      {.reads = {args.stats_3T}, .writes = {args.loss_T}, .flops = 5 * loss.num_elements()},
      ops.kernels.token_loss,
      args);
  return loss;
}

Tensor logits_backward(const OpContext& ops,
                       const LogitsSaved& saved,
                       const LabelSmoothing& smoothing,
                       const Tensor& dloss_T) {
  const std::int64_t tokens = saved.logits.labels.num_elements();
  LOCKSTEP_CHECK(saved.max_T.num_elements() == tokens &&
                     saved.stats_3T.num_elements() == 3 * tokens &&
                     dloss_T.num_elements() == tokens,
                 "cross entropy of " + std::to_string(tokens) + " tokens with dloss " +
                     to_text(dloss_T.shape));
  check_main(ops, saved.max_T, "maxima");
  check_main(ops, saved.stats_3T, "stats");
  check_main(ops, dloss_T, "losses");
  const Tensor dlogits =
      new_tensor(ops, saved.logits.logits.dtype, saved.logits.logits.shape, "logits.gradient");
  const LogitsBackwardArgs args{.logits = arguments(saved.logits),
                                .max_T = saved.max_T.buffer(),
                                .stats_3T = saved.stats_3T.buffer(),
                                .dloss_T = dloss_T.buffer(),
                                .dlogits_TV = dlogits.buffer(),
                                .smoothing = smoothing};
  launch_kernel(
      ops,
      "op.logits_backward",
      {.reads =
           {args.logits.logits_TV, args.logits.labels_T, args.max_T, args.stats_3T, args.dloss_T},
       .writes = {args.dlogits_TV},
       .flops = 5 * dlogits.num_elements()},
      ops.kernels.logits_backward,
      args);
  return dlogits;
}

}  // namespace lockstep
