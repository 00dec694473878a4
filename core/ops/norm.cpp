// Launches of RMS and layer norm, and the shapes they take and give.
#include "core/ops/norm.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

// Weights [H] of x [..., H], of one type.
void check_weight(std::string_view op, const Tensor& x, const Tensor& weight) {
  LOCKSTEP_CHECK(weight.num_elements() == x.shape.last() && x.shape.last() > 0,
                 std::string(op) + ": x " + to_text(x.shape) + " does not fit a weight " +
                     to_text(weight.shape));
  LOCKSTEP_CHECK(weight.dtype == x.dtype,
                 std::string(op) + ": types " + std::string(name_of(x.dtype)) + " and " +
                     std::string(name_of(weight.dtype)));
}

void check_gradient(std::string_view op, const Tensor& x, const Tensor& dy) {
  LOCKSTEP_CHECK(
      dy.num_elements() == x.num_elements() && dy.dtype == x.dtype,
      std::string(op) + ": dy " + to_text(dy.shape) + " does not fit x " + to_text(x.shape));
}

// A number for each row of x, of the accumulation type.
Tensor row_statistic(const OpContext& ops, const Tensor& x, std::string_view label) {
  return new_tensor(ops, ops.main_dtype(), {x.num_elements() / x.shape.last()}, label);
}

void launch_backward(const OpContext& ops,
                     std::string_view label,
                     Kernel<RmsNormBackwardArgs> kernel,
                     const RmsNormSaved& saved,
                     const Tensor& dy,
                     const Tensor& out) {
  check_gradient(label, saved.x, dy);
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

void launch_backward(const OpContext& ops,
                     std::string_view label,
                     Kernel<LayerNormBackwardArgs> kernel,
                     const LayerNormSaved& saved,
                     const Tensor& dy,
                     const Tensor& out) {
  check_gradient(label, saved.x, dy);
  const LayerNormBackwardArgs args{.x_TH = saved.x.buffer(),
                                   .g_H = saved.g.buffer(),
                                   .mean_T = saved.mean_T.buffer(),
                                   .inverse_std_T = saved.inverse_std_T.buffer(),
                                   .dy_TH = dy.buffer(),
                                   .out = out.buffer()};
  launch_kernel(ops,
                label,
                {.reads = {args.x_TH, args.g_H, args.mean_T, args.inverse_std_T, args.dy_TH},
                 .writes = {args.out},
                 .flops = 9 * saved.x.num_elements()},
                kernel,
                args);
}

}  // namespace

RmsNormResult rms_norm(const OpContext& ops, const Tensor& x, const Tensor& g, double eps) {
  check_weight("rms_norm", x, g);
  const RmsNormResult result{.y = new_tensor(ops, x.dtype, x.shape, "rms_norm.y"),
                             .inverse_rms_T = row_statistic(ops, x, "rms_norm.inverse")};
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
  const Tensor dx = new_tensor(ops, saved.x.dtype, saved.x.shape, "rms_norm.dx");
  launch_backward(
      ops, "op.rms_norm_backward_input", ops.kernels.rms_norm_backward_input, saved, dy, dx);
  return dx;
}

Tensor rms_norm_backward_weight(const OpContext& ops, const RmsNormSaved& saved, const Tensor& dy) {
  const Tensor dg = new_tensor(ops, saved.g.dtype, saved.g.shape, "rms_norm.dg");
  launch_backward(
      ops, "op.rms_norm_backward_weight", ops.kernels.rms_norm_backward_weight, saved, dy, dg);
  return dg;
}

LayerNormResult layer_norm(const OpContext& ops,
                           const Tensor& x,
                           const LayerNormWeights& weights,
                           double eps) {
  check_weight("layer_norm", x, weights.g);
  check_weight("layer_norm", x, weights.b);
  const LayerNormResult result{.y = new_tensor(ops, x.dtype, x.shape, "layer_norm.y"),
                               .mean_T = row_statistic(ops, x, "layer_norm.mean"),
                               .inverse_std_T = row_statistic(ops, x, "layer_norm.inverse")};
  const LayerNormArgs args{.x_TH = x.buffer(),
                           .g_H = weights.g.buffer(),
                           .b_H = weights.b.buffer(),
                           .y_TH = result.y.buffer(),
                           .mean_T = result.mean_T.buffer(),
                           .inverse_std_T = result.inverse_std_T.buffer(),
                           .eps = eps};
  launch_kernel(ops,
                "op.layer_norm",
                {.reads = {args.x_TH, args.g_H, args.b_H},
                 .writes = {args.y_TH, args.mean_T, args.inverse_std_T},
                 .flops = 8 * x.num_elements()},
                ops.kernels.layer_norm,
                args);
  return result;
}

Tensor layer_norm_backward_input(const OpContext& ops,
                                 const LayerNormSaved& saved,
                                 const Tensor& dy) {
  const Tensor dx = new_tensor(ops, saved.x.dtype, saved.x.shape, "layer_norm.dx");
  launch_backward(
      ops, "op.layer_norm_backward_input", ops.kernels.layer_norm_backward_input, saved, dy, dx);
  return dx;
}

Tensor layer_norm_backward_weight(const OpContext& ops,
                                  const LayerNormSaved& saved,
                                  const Tensor& dy) {
  const Tensor dg = new_tensor(ops, saved.g.dtype, saved.g.shape, "layer_norm.dg");
  launch_backward(
      ops, "op.layer_norm_backward_weight", ops.kernels.layer_norm_backward_weight, saved, dy, dg);
  return dg;
}

}  // namespace lockstep
