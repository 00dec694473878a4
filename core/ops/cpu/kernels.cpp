// The table of the CPU's kernels.
#include "core/ops/cpu/kernels.h"

#include "core/ops/cpu/bodies.h"

namespace lockstep {

KernelTable cpu_kernels() {
  return {
      .matmul = cpu::matmul,
      .rms_norm = cpu::rms_norm,
      .rms_norm_backward_input = cpu::rms_norm_backward_input,
      .rms_norm_backward_weight = cpu::rms_norm_backward_weight,
      .layer_norm = cpu::layer_norm,
      .layer_norm_backward_input = cpu::layer_norm_backward_input,
      .layer_norm_backward_weight = cpu::layer_norm_backward_weight,
      .add_bias = cpu::add_bias,
      .column_sums = cpu::column_sums,
      .gated_silu = cpu::gated_silu,
      .gated_silu_backward = cpu::gated_silu_backward,
      .rope = cpu::rope,
      .split_qkv = cpu::split_qkv,
      .join_qkv = cpu::join_qkv,
      .attention = cpu::attention,
      .attention_backward = cpu::attention_backward,
      .attention_sink = cpu::attention_sink,
      .attention_sink_backward = cpu::attention_sink_backward,
      .attention_block = cpu::attention_block,
      .attention_delta = cpu::attention_delta,
      .attention_block_backward = cpu::attention_block_backward,
      .dropout = cpu::dropout,
      .silu = cpu::silu,
      .silu_backward = cpu::silu_backward,
      .embedding = cpu::embedding,
      .embedding_backward = cpu::embedding_backward,
      .logits_max = cpu::logits_max,
      .logits_stats = cpu::logits_stats,
      .logits_backward = cpu::logits_backward,
      .token_loss = cpu::token_loss,
      .weighted_sum = cpu::weighted_sum,
      .fill = cpu::fill,
      .add = cpu::add,
      .accumulate = cpu::accumulate,
      .convert = cpu::convert,
      .scale = cpu::scale,
      .scale_by = cpu::scale_by,
      .copy_columns = cpu::copy_columns,
      .reals_from_host = cpu::reals_from_host,
      .integers_from_host = cpu::integers_from_host,
      .reals_to_host = cpu::reals_to_host,
      .sum_of_squares = cpu::sum_of_squares,
      .count_zeros = cpu::count_zeros,
      .sgd = cpu::sgd,
      .adamw = cpu::adamw,
  };
}

}  // namespace lockstep
