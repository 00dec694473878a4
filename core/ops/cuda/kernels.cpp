// The table of CUDA's kernels.
#include "core/ops/cuda/kernels.h"

#include "core/ops/cuda/bodies.h"

namespace lockstep {

KernelTable cuda_kernels() {
  return {
      .matmul = cuda::matmul,
      .rms_norm = cuda::rms_norm,
      .rms_norm_backward_input = cuda::rms_norm_backward_input,
      .rms_norm_backward_weight = cuda::rms_norm_backward_weight,
      .layer_norm = cuda::layer_norm,
      .layer_norm_backward_input = cuda::layer_norm_backward_input,
      .layer_norm_backward_weight = cuda::layer_norm_backward_weight,
      .add_bias = cuda::add_bias,
      .column_sums = cuda::column_sums,
      .gated_silu = cuda::gated_silu,
      .gated_silu_backward = cuda::gated_silu_backward,
      .rope = cuda::rope,
      .split_qkv = cuda::split_qkv,
      .join_qkv = cuda::join_qkv,
      .attention = cuda::attention,
      .attention_backward = cuda::attention_backward,
      .attention_sink = cuda::attention_sink,
      .attention_sink_backward = cuda::attention_sink_backward,
      .attention_block = cuda::attention_block,
      .attention_delta = cuda::attention_delta,
      .attention_block_backward = cuda::attention_block_backward,
      .dropout = cuda::dropout,
      .silu = cuda::silu,
      .silu_backward = cuda::silu_backward,
      .embedding = cuda::embedding,
      .embedding_backward = cuda::embedding_backward,
      .logits_max = cuda::logits_max,
      .logits_stats = cuda::logits_stats,
      .logits_backward = cuda::logits_backward,
      .token_loss = cuda::token_loss,
      .weighted_sum = cuda::weighted_sum,
      .fill = cuda::fill,
      .add = cuda::add,
      .accumulate = cuda::accumulate,
      .convert = cuda::convert,
      .scale = cuda::scale,
      .scale_by = cuda::scale_by,
      .copy_columns = cuda::copy_columns,
      .reals_from_host = cuda::reals_from_host,
      .integers_from_host = cuda::integers_from_host,
      .reals_to_host = cuda::reals_to_host,
      .sum_of_squares = cuda::sum_of_squares,
      .count_zeros = cuda::count_zeros,
      .sgd = cuda::sgd,
      .adamw = cuda::adamw,
  };
}

}  // namespace lockstep
