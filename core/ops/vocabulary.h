// Ops on one shard of the vocabulary: embedding rows, and the pieces of cross entropy.
//
// Shapes: ids and labels [T], weights [V_local, H], logits [T, V_local]. Columns from num_real on
// are padding: they weigh nothing in the softmax and get no gradient. Maxima, stats and losses are
// of the accumulation type.
#pragma once

#include "core/ops/context.h"

namespace lockstep {

// Global ids [first_row, first_row + num_real) are the shard's real rows.
struct VocabularyShard {
  std::int64_t first_row = 0;
  std::int64_t num_real = 0;
};

// [T, H]; zero rows for ids of other shards.
Tensor embedding(const OpContext& ops,
                 const Tensor& ids,
                 const Tensor& weight,
                 const VocabularyShard& shard);
// What backward needs of the forward pass.
struct EmbeddingSaved {
  Tensor ids;
  Shape weight_shape;
  VocabularyShard shard;
};
// [V_local, H]
Tensor embedding_backward(const OpContext& ops, const EmbeddingSaved& saved, const Tensor& dout);

struct ShardLogits {
  Tensor logits;
  Tensor labels;
  VocabularyShard shard;
};

// [T]: the largest real logit of this shard.
Tensor logits_max(const OpContext& ops, const ShardLogits& logits);
// [3, T]: label's logit - max (0 where another shard owns it), sum of exp(z - max), sum of z - max.
Tensor logits_stats(const OpContext& ops, const ShardLogits& logits, const Tensor& max_T);
// [T], from stats summed over the shards.
Tensor token_loss(const OpContext& ops, const Tensor& stats_3T, const LabelSmoothing& smoothing);
struct LogitsSaved {
  ShardLogits logits;
  Tensor max_T;
  Tensor stats_3T;
};
// [T, V_local]
Tensor logits_backward(const OpContext& ops,
                       const LogitsSaved& saved,
                       const LabelSmoothing& smoothing,
                       const Tensor& dloss_T);

}  // namespace lockstep
