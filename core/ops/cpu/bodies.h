// The CPU kernels' bodies, one file an area; only the table beside it names them.
#pragma once

#include "core/ops/kernels.h"

namespace lockstep::cpu {

template <typename T>
T* elements(const Buffer& buffer) {
  return reinterpret_cast<T*>(buffer.bytes());
}

void matmul(const LaunchTarget&, const MatmulArgs& args);
void rms_norm(const LaunchTarget&, const RmsNormArgs& args);
void rms_norm_backward_input(const LaunchTarget&, const RmsNormBackwardArgs& args);
void rms_norm_backward_weight(const LaunchTarget&, const RmsNormBackwardArgs& args);
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
void scale(const LaunchTarget&, const ScaleArgs& args);
void scale_by(const LaunchTarget&, const ScaleByArgs& args);
void copy_columns(const LaunchTarget&, const CopyColumnsArgs& args);
void reals_from_host(const LaunchTarget&, const FromHostArgs& args);
void integers_from_host(const LaunchTarget&, const FromHostArgs& args);
void reals_to_host(const LaunchTarget&, const ToHostArgs& args);
void sgd(const LaunchTarget&, const SgdArgs& args);

}  // namespace lockstep::cpu
