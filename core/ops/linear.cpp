// A linear map as three products, and its bias.
#include "core/ops/linear.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

std::int64_t rows_of(const Tensor& tensor) {
  return tensor.shape.last() == 0 ? 0 : tensor.num_elements() / tensor.shape.last();
}

void check_same_type(const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(
      a.dtype == b.dtype,
      "linear: types " + std::string(name_of(a.dtype)) + " and " + std::string(name_of(b.dtype)));
}

void multiply(const OpContext& ops, std::string_view label, const MatmulArgs& args) {
  const std::int64_t flops = 2 * args.m * args.n * args.k;
  launch_kernel(ops,
                label,
                {.reads = {args.a, args.b}, .writes = {args.c}, .flops = flops},
                ops.kernels.matmul,
                args);
}

Shape output_shape(const Shape& x, const Shape& weight) {
  LOCKSTEP_CHECK(weight.num_dims() == 2 && x.last() == weight[1],
                 "linear: x " + to_text(x) + " does not fit W " + to_text(weight));
  return x.with_last(weight[0]);
}

}  // namespace

Tensor linear(const OpContext& ops, const Tensor& x, const Tensor& weight) {
  check_same_type(x, weight);
  const Tensor y = new_tensor(ops, x.dtype, output_shape(x.shape, weight.shape), "linear.y");
  multiply(ops,
           "op.linear",
           {.a = x.buffer(),
            .b = weight.buffer(),
            .c = y.buffer(),
            .m = rows_of(x),
            .n = weight.shape[0],
            .k = weight.shape[1],
            .transpose_b = true});
  return y;
}

Tensor linear_backward_input(const OpContext& ops, const LinearSaved& saved, const Tensor& dy) {
  const Tensor& weight = saved.weight;
  LOCKSTEP_CHECK(dy.shape.last() == weight.shape[0],
                 "linear: dy " + to_text(dy.shape) + " does not fit W " + to_text(weight.shape));
  const Shape shape = dy.shape.with_last(weight.shape[1]);
  check_same_type(dy, weight);
  const Tensor dx = new_tensor(ops, dy.dtype, shape, "linear.dx");
  multiply(ops,
           "op.linear_backward_input",
           {.a = dy.buffer(),
            .b = weight.buffer(),
            .c = dx.buffer(),
            .m = rows_of(dy),
            .n = weight.shape[1],
            .k = weight.shape[0]});
  return dx;
}

Tensor linear_backward_weight(const OpContext& ops, const LinearSaved& saved, const Tensor& dy) {
  const Tensor& x = saved.x;
  LOCKSTEP_CHECK(rows_of(dy) == rows_of(x),
                 "linear: dy " + to_text(dy.shape) + " does not fit x " + to_text(x.shape));
  check_same_type(dy, x);
  const Tensor dw = new_tensor(ops, x.dtype, {dy.shape.last(), x.shape.last()}, "linear.dw");
  multiply(ops,
           "op.linear_backward_weight",
           {.a = dy.buffer(),
            .b = x.buffer(),
            .c = dw.buffer(),
            .m = dy.shape.last(),
            .n = x.shape.last(),
            .k = rows_of(x),
            .transpose_a = true});
  return dw;
}

Tensor add_bias(const OpContext& ops, const Tensor& x, const Tensor& bias) {
  LOCKSTEP_CHECK(bias.num_elements() == x.shape.last() && x.shape.last() > 0,
                 "add_bias: x " + to_text(x.shape) + " does not fit b " + to_text(bias.shape));
  check_same_type(x, bias);
  const Tensor y = new_tensor(ops, x.dtype, x.shape, "add_bias.y");
  const AddBiasArgs args{.x_TH = x.buffer(), .b_H = bias.buffer(), .y_TH = y.buffer()};
  launch_kernel(ops,
                "op.add_bias",
                {.reads = {args.x_TH, args.b_H}, .writes = {args.y_TH}, .flops = x.num_elements()},
                ops.kernels.add_bias,
                args);
  return y;
}

Tensor add_bias_backward_bias(const OpContext& ops, const Tensor& dy) {
  LOCKSTEP_CHECK(dy.shape.last() > 0, "add_bias: dy " + to_text(dy.shape) + " has no columns");
  const Tensor db = new_tensor(ops, dy.dtype, {dy.shape.last()}, "add_bias.db");
  const ColumnSumsArgs args{.x_TH = dy.buffer(), .out_H = db.buffer()};
  launch_kernel(ops,
                "op.add_bias_backward_bias",
                {.reads = {args.x_TH}, .writes = {args.out_H}, .flops = dy.num_elements()},
                ops.kernels.column_sums,
                args);
  return db;
}

}  // namespace lockstep
