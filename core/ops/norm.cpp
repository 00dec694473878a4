// RMS norm: launches and shapes.
#include "core/ops/norm.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

void launch_backward(const OpContext& ops,
                     std::string_view label,
                     Kernel<RmsNormBackwardArgs> kernel,
                     const RmsNormSaved& saved,
                     const Tensor& dy,
                     const Tensor& out) {
  const RmsNormBackwardArgs args{.x_TH = saved.x.buffer(),
                                 .g_H = saved.g.buffer(),
                                 .inverse_rms_T = saved.inverse_rms_T.buffer(),
                                 .dy_TH = dy.buffer(),
                                 .out = out.buffer()};
  launch_kernel(ops,
                label,
                {.reads = {args.x_TH, args.g_H, args.inverse_rms_T, args.dy_TH},
                 .writes = {args.out},
                 .flops = 6 * saved.x.num_elements()},
                kernel,
                args);
}

}  // namespace

RmsNormResult rms_norm(const OpContext& ops, const Tensor& x, const Tensor& g, double eps) {
  LOCKSTEP_CHECK(g.num_elements() == x.shape.last() && x.shape.last() > 0,
                 "rms_norm: x " + to_text(x.shape) + " does not fit g " + to_text(g.shape));
  RmsNormResult result{
      .y = new_tensor(ops, x.shape, "rms_norm.y"),
      .inverse_rms_T = new_tensor(ops, {x.num_elements() / x.shape.last()}, "rms_norm.inverse")};
  const RmsNormArgs args{.x_TH = x.buffer(),
                         .g_H = g.buffer(),
                         .y_TH = result.y.buffer(),
                         .inverse_rms_T = result.inverse_rms_T.buffer(),
                         .eps = eps};
  launch_kernel(ops,
                "op.rms_norm",
                {.reads = {args.x_TH, args.g_H},
                 .writes = {args.y_TH, args.inverse_rms_T},
                 .flops = 4 * x.num_elements()},
                ops.kernels.rms_norm,
                args);
  return result;
}

Tensor rms_norm_backward_input(const OpContext& ops, const RmsNormSaved& saved, const Tensor& dy) {
  const Tensor dx = new_tensor(ops, saved.x.shape, "rms_norm.dx");
  launch_backward(
      ops, "op.rms_norm_backward_input", ops.kernels.rms_norm_backward_input, saved, dy, dx);
  return dx;
}

Tensor rms_norm_backward_weight(const OpContext& ops, const RmsNormSaved& saved, const Tensor& dy) {
  const Tensor dg = new_tensor(ops, saved.g.shape, "rms_norm.dg");
  launch_backward(
      ops, "op.rms_norm_backward_weight", ops.kernels.rms_norm_backward_weight, saved, dy, dg);
  return dg;
}

}  // namespace lockstep
