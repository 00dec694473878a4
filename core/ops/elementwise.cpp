// Launches of elementwise ops, and the shapes they take and give.
#include "core/ops/elementwise.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {
namespace {

// An elementwise kernel: one flop an element of its largest buffer.
template <typename Args>
void launch_elementwise(const OpContext& ops,
                        std::string_view label,
                        std::initializer_list<Buffer> reads,
                        const Buffer& out,
                        Kernel<Args> kernel,
                        const Args& args) {
  std::int64_t flops = out.count;
  for (const Buffer& buffer : reads) flops = std::max(flops, buffer.count);
  launch_kernel(ops, label, {.reads = reads, .writes = {out}, .flops = flops}, kernel, args);
}

void check_same_size(const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(a.num_elements() == b.num_elements(),
                 "sizes differ: " + to_text(a.shape) + " and " + to_text(b.shape));
}

void check_same_type(const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(
      a.dtype == b.dtype,
      "types differ: " + std::string(name_of(a.dtype)) + " and " + std::string(name_of(b.dtype)));
}

void check_alike(const Tensor& a, const Tensor& b) {
  check_same_size(a, b);
  check_same_type(a, b);
}

void launch_copy_columns(const OpContext& ops, const CopyColumnsArgs& args) {
  launch_elementwise(ops, "op.copy_columns", {args.from}, args.to, ops.kernels.copy_columns, args);
}

}  // namespace

Tensor silu(const OpContext& ops, const Tensor& x) {
  const Tensor out = new_tensor(ops, x.dtype, x.shape, "silu.out");
  const UnaryArgs args{.x = x.buffer(), .out = out.buffer()};
  launch_elementwise(ops, "op.silu", {args.x}, args.out, ops.kernels.silu, args);
  return out;
}

Tensor silu_backward(const OpContext& ops, const SiluSaved& saved, const Tensor& dy) {
  const Tensor& x = saved.x;
  check_alike(x, dy);
  const Tensor out = new_tensor(ops, x.dtype, x.shape, "silu.dx");
  const UnaryBackwardArgs args{.x = x.buffer(), .dy = dy.buffer(), .out = out.buffer()};
  launch_elementwise(
      ops, "op.silu_backward", {args.x, args.dy}, args.out, ops.kernels.silu_backward, args);
  return out;
}

Tensor gated_silu(const OpContext& ops, const Tensor& x) {
  const std::int64_t width = x.shape.last() / 2;
  LOCKSTEP_CHECK(x.shape.last() == 2 * width && width > 0,
                 "gated_silu: rows of " + to_text(x.shape) + " are not [gate | up]");
  const Shape shape = x.shape.with_last(width);
  const Tensor y = new_tensor(ops, x.dtype, shape, "gated_silu.y");
  const GatedSiluArgs args{.x_T2F = x.buffer(), .y_TF = y.buffer(), .width = width};
  launch_elementwise(ops, "op.gated_silu", {args.x_T2F}, args.y_TF, ops.kernels.gated_silu, args);
  return y;
}

Tensor gated_silu_backward(const OpContext& ops, const GatedSiluSaved& saved, const Tensor& dy) {
  const Tensor& x = saved.x;
  const std::int64_t width = x.shape.last() / 2;
  LOCKSTEP_CHECK(dy.shape.last() == width && 2 * dy.num_elements() == x.num_elements(),
                 "gated_silu: dy " + to_text(dy.shape) + " does not fit x " + to_text(x.shape));
  check_same_type(x, dy);
  const Tensor dx = new_tensor(ops, x.dtype, x.shape, "gated_silu.dx");
  const GatedSiluBackwardArgs args{
      .x_T2F = x.buffer(), .dy_TF = dy.buffer(), .dx_T2F = dx.buffer(), .width = width};
  launch_elementwise(ops,
                     "op.gated_silu_backward",
                     {args.x_T2F, args.dy_TF},
                     args.dx_T2F,
                     ops.kernels.gated_silu_backward,
                     args);
  return dx;
}

Tensor add(const OpContext& ops, const Tensor& a, const Tensor& b) {
  check_alike(a, b);
  const Tensor out = new_tensor(ops, a.dtype, a.shape, "add.out");
  const AddArgs args{.a = a.buffer(), .b = b.buffer(), .out = out.buffer()};
  launch_elementwise(ops, "op.add", {args.a, args.b}, args.out, ops.kernels.add, args);
  return out;
}

void fill(const OpContext& ops, const Tensor& out, double value, std::string_view label) {
  const FillArgs args{.out = out.buffer(), .value = value};
  launch_elementwise(ops, label, {}, args.out, ops.kernels.fill, args);
}

void accumulate(const OpContext& ops, const Accumulation& accumulation, std::string_view label) {
  check_same_size(accumulation.x, accumulation.sum);
  const AccumulateArgs args{.x = accumulation.x.buffer(), .out = accumulation.sum.buffer()};
  launch_elementwise(ops, label, {args.x, args.out}, args.out, ops.kernels.accumulate, args);
}

void scale_in_place(const OpContext& ops, const Tensor& x, double factor, std::string_view label) {
  const ScaleArgs args{.x = x.buffer(), .out = x.buffer(), .factor = factor};
  launch_elementwise(ops, label, {args.x}, args.out, ops.kernels.scale, args);
}

Tensor converted(const OpContext& ops, const Tensor& x, DType dtype) {
  const Tensor out = new_tensor(ops, dtype, x.shape, "convert.out");
  const ConvertArgs args{.x = x.buffer(), .out = out.buffer()};
  launch_elementwise(ops, "op.convert", {args.x}, args.out, ops.kernels.convert, args);
  return out;
}

Tensor scaled_by(const OpContext& ops, const Tensor& x, const Tensor& factor) {
  LOCKSTEP_CHECK(factor.num_elements() == 1,
                 "a factor of shape " + to_text(factor.shape) + " is no single number");
  check_same_type(x, factor);
  const Tensor out = new_tensor(ops, x.dtype, x.shape, "scale_by.out");
  const ScaleByArgs args{.x = x.buffer(), .factor = factor.buffer(), .out = out.buffer()};
  launch_elementwise(
      ops, "op.scale_by", {args.x, args.factor}, args.out, ops.kernels.scale_by, args);
  return out;
}

Tensor weighted_sum(const OpContext& ops, const Tensor& x, const Tensor& weight) {
  check_alike(x, weight);
  const Tensor out = new_tensor(ops, x.dtype, {1}, "weighted_sum.out");
  const WeightedSumArgs args{.x = x.buffer(), .weight = weight.buffer(), .out = out.buffer()};
  launch_elementwise(
      ops, "op.weighted_sum", {args.x, args.weight}, args.out, ops.kernels.weighted_sum, args);
  return out;
}

Tensor columns(const OpContext& ops, const Tensor& x, std::int64_t first, std::int64_t count) {
  const std::int64_t width = x.shape.last();
  LOCKSTEP_CHECK(first >= 0 && count >= 0 && first + count <= width && width > 0,
                 "columns " + std::to_string(first) + " to " + std::to_string(first + count) +
                     " of " + to_text(x.shape));
  const Shape shape = x.shape.with_last(count);
  const Tensor out = new_tensor(ops, x.dtype, shape, "columns.out");
  launch_copy_columns(ops,
                      {.from = x.buffer(),
                       .to = out.buffer(),
                       .rows = x.num_elements() / width,
                       .width = count,
                       .from_stride = width,
                       .from_first = first,
                       .to_stride = count,
                       .to_first = 0});
  return out;
}

Tensor columns_padded(const OpContext& ops,
                      const Tensor& x,
                      std::int64_t first,
                      std::int64_t width) {
  const std::int64_t count = x.shape.last();
  LOCKSTEP_CHECK(first >= 0 && first + count <= width && count > 0,
                 to_text(x.shape) + " as columns from " + std::to_string(first) + " on of " +
                     std::to_string(width));
  const Shape shape = x.shape.with_last(width);
  const Tensor out = new_tensor(ops, x.dtype, shape, "columns.padded");
  fill(ops, out, 0.0, "op.columns_padded");
  launch_copy_columns(ops,
                      {.from = x.buffer(),
                       .to = out.buffer(),
                       .rows = x.num_elements() / count,
                       .width = count,
                       .from_stride = count,
                       .from_first = 0,
                       .to_stride = width,
                       .to_first = first});
  return out;
}

Tensor columns_split(const OpContext& ops, const Tensor& x, std::int64_t num_parts) {
  const std::int64_t all = x.shape.last();
  LOCKSTEP_CHECK(num_parts > 0 && all > 0 && all % num_parts == 0,
                 "cannot split " + to_text(x.shape) + " into " + std::to_string(num_parts));
  const std::int64_t width = all / num_parts;
  const std::int64_t rows = x.num_elements() / all;
  const Tensor parts = new_tensor(ops, x.dtype, {num_parts, rows, width}, "columns.split");
  for (std::int64_t part = 0; part < num_parts; ++part) {
    launch_copy_columns(ops,
                        {.from = x.buffer(),
                         .to = parts.rows(part, 1).buffer(),
                         .rows = rows,
                         .width = width,
                         .from_stride = all,
                         .from_first = part * width,
                         .to_stride = width,
                         .to_first = 0});
  }
  return parts;
}

Tensor columns_joined(const OpContext& ops,
                      const Tensor& parts,
                      std::int64_t num_parts,
                      const Shape& shape) {
  LOCKSTEP_CHECK(shape.num_elements() == parts.num_elements() && shape.last() % num_parts == 0,
                 "cannot join " + to_text(parts.shape) + " to " + to_text(shape));
  const Tensor out = new_tensor(ops, parts.dtype, shape, "columns.joined");
  const std::int64_t width = shape.last() / num_parts;
  const std::int64_t rows = shape.num_elements() / shape.last();
  for (std::int64_t part = 0; part < num_parts; ++part) {
    Buffer from = parts.buffer();
    from.offset += part * rows * width;
    from.count = rows * width;
    launch_copy_columns(ops,
                        {.from = from,
                         .to = out.buffer(),
                         .rows = rows,
                         .width = width,
                         .from_stride = width,
                         .from_first = 0,
                         .to_stride = shape.last(),
                         .to_first = part * width});
  }
  return out;
}

}  // namespace lockstep
