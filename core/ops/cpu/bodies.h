// The CPU kernels' bodies, one file an area; only the table beside it names them.
#pragma once

#include "core/ops/kernels.h"

namespace lockstep::cpu {

void matmul(const LaunchTarget&, const MatmulArgs& args);
void rms_norm(const LaunchTarget&, const RmsNormArgs& args);
void rms_norm_backward_input(const LaunchTarget&, const RmsNormBackwardArgs& args);
void rms_norm_backward_weight(const LaunchTarget&, const RmsNormBackwardArgs& args);
void layer_norm(const LaunchTarget&, const LayerNormArgs& args);
void layer_norm_backward_input(const LaunchTarget&, const LayerNormBackwardArgs& args);
void layer_norm_backward_weight(const LaunchTarget&, const LayerNormBackwardArgs& args);
void add_bias(const LaunchTarget&, const AddBiasArgs& args);
void column_sums(const LaunchTarget&, const ColumnSumsArgs& args);
void gated_silu(const LaunchTarget&, const GatedSiluArgs& args);
void gated_silu_backward(const LaunchTarget&, const GatedSiluBackwardArgs& args);
void rope(const LaunchTarget&, const RopeArgs& args);
void split_qkv(const LaunchTarget&, const SplitQkvArgs& args);
void join_qkv(const LaunchTarget&, const SplitQkvArgs& args);
void attention(const LaunchTarget&, const AttentionArgs& args);
void attention_backward(const LaunchTarget&, const AttentionBackwardArgs& args);
void attention_sink(const LaunchTarget&, const AttentionSinkArgs& args);
void attention_sink_backward(const LaunchTarget&, const AttentionSinkBackwardArgs& args);
void attention_block(const LaunchTarget&, const AttentionBlockArgs& args);
void attention_delta(const LaunchTarget&, const AttentionDeltaArgs& args);
void attention_block_backward(const LaunchTarget&, const AttentionBlockBackwardArgs& args);
void dropout(const LaunchTarget&, const DropoutArgs& args);
void silu(const LaunchTarget&, const UnaryArgs& args);
void silu_backward(const LaunchTarget&, const UnaryBackwardArgs& args);
void embedding(const LaunchTarget&, const EmbeddingArgs& args);
void embedding_backward(const LaunchTarget&, const EmbeddingBackwardArgs& args);
void logits_max(const LaunchTarget&, const LogitsMaxArgs& args);
void logits_stats(const LaunchTarget&, const LogitsStatsArgs& args);
void logits_backward(const LaunchTarget&, const LogitsBackwardArgs& args);
void token_loss(const LaunchTarget&, const TokenLossArgs& args);
void weighted_sum(const LaunchTarget&, const WeightedSumArgs& args);
void fill(const LaunchTarget&, const FillArgs& args);
void add(const LaunchTarget&, const AddArgs& args);
void accumulate(const LaunchTarget&, const AccumulateArgs& args);
void convert(const LaunchTarget&, const ConvertArgs& args);
void scale(const LaunchTarget&, const ScaleArgs& args);
void scale_by(const LaunchTarget&, const ScaleByArgs& args);
void copy_columns(const LaunchTarget&, const CopyColumnsArgs& args);
void reals_from_host(const LaunchTarget&, const FromHostArgs& args);
void integers_from_host(const LaunchTarget&, const FromHostArgs& args);
void reals_to_host(const LaunchTarget&, const ToHostArgs& args);
void sum_of_squares(const LaunchTarget&, const StatisticArgs& args);
void count_zeros(const LaunchTarget&, const StatisticArgs& args);
void sgd(const LaunchTarget&, const SgdArgs& args);
void adamw(const LaunchTarget&, const AdamwArgs& args);

}  // namespace lockstep::cpu
