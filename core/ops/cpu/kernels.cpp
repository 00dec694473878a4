// The table of f64 kernels of the CPU.
#include "core/ops/cpu/kernels.h"

#include <string>

#include "core/base/errors.h"
#include "core/ops/cpu/bodies.h"

namespace lockstep {

KernelTable cpu_kernels(DType dtype) {
  LOCKSTEP_CHECK(dtype == DType::kF64,
                 "the CPU has no kernels for " + std::string(name_of(dtype)) + " yet");
  return {
      .matmul = cpu::matmul,
      .rms_norm = cpu::rms_norm,
      .rms_norm_backward_input = cpu::rms_norm_backward_input,
      .rms_norm_backward_weight = cpu::rms_norm_backward_weight,
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
      .scale = cpu::scale,
      .scale_by = cpu::scale_by,
      .copy_columns = cpu::copy_columns,
      .reals_from_host = cpu::reals_from_host,
      .integers_from_host = cpu::integers_from_host,
      .reals_to_host = cpu::reals_to_host,
      .sgd = cpu::sgd,
  };
}

}  // namespace lockstep
