// Launches that reduce a tensor to one f64.
#include "core/ops/statistics.h"

namespace lockstep {
namespace {

Tensor launch_statistic(const OpContext& ops,
                        const Tensor& x,
                        std::string_view label,
                        Kernel<StatisticArgs> kernel,
                        std::int64_t flops) {
  const Tensor out = new_tensor(ops, DType::kF64, {1}, label);
  const StatisticArgs args{.x = x.buffer(), .out = out.buffer()};
  launch_kernel(
      ops, label, {.reads = {args.x}, .writes = {args.out}, .flops = flops}, kernel, args);
  return out;
}

}  // namespace

Tensor sum_of_squares(const OpContext& ops, const Tensor& x, std::string_view label) {
  return launch_statistic(ops, x, label, ops.kernels.sum_of_squares, 2 * x.num_elements());
}

Tensor count_zeros(const OpContext& ops, const Tensor& x, std::string_view label) {
  return launch_statistic(ops, x, label, ops.kernels.count_zeros, x.num_elements());
}

}  // namespace lockstep
