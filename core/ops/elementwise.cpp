// Elementwise ops: launches and shapes.
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

void launch_copy_columns(const OpContext& ops, const CopyColumnsArgs& args) {
  launch_elementwise(ops, "op.copy_columns", {args.from}, args.to, ops.kernels.copy_columns, args);
}

}  // namespace

Tensor silu(const OpContext& ops, const Tensor& x) {
  const Tensor out = new_tensor(ops, x.shape, "silu.out");
  const UnaryArgs args{.x = x.buffer(), .out = out.buffer()};
  launch_elementwise(ops, "op.silu", {args.x}, args.out, ops.kernels.silu, args);
  return out;
}

Tensor silu_backward(const OpContext& ops, const SiluSaved& saved, const Tensor& dy) {
  const Tensor& x = saved.x;
  check_same_size(x, dy);
  const Tensor out = new_tensor(ops, x.shape, "silu.dx");
  const UnaryBackwardArgs args{.x = x.buffer(), .dy = dy.buffer(), .out = out.buffer()};
  launch_elementwise(
      ops, "op.silu_backward", {args.x, args.dy}, args.out, ops.kernels.silu_backward, args);
  return out;
}

Tensor add(const OpContext& ops, const Tensor& a, const Tensor& b) {
  check_same_size(a, b);
  const Tensor out = new_tensor(ops, a.shape, "add.out");
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

Tensor scaled_by(const OpContext& ops, const Tensor& x, const Tensor& factor) {
  LOCKSTEP_CHECK(factor.num_elements() == 1,
                 "a factor of shape " + to_text(factor.shape) + " is no single number");
  const Tensor out = new_tensor(ops, x.shape, "scale_by.out");
  const ScaleByArgs args{.x = x.buffer(), .factor = factor.buffer(), .out = out.buffer()};
  launch_elementwise(
      ops, "op.scale_by", {args.x, args.factor}, args.out, ops.kernels.scale_by, args);
  return out;
}

Tensor weighted_sum(const OpContext& ops, const Tensor& x, const Tensor& weight) {
  check_same_size(x, weight);
  const Tensor out = new_tensor(ops, {1}, "weighted_sum.out");
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
  Shape shape = x.shape;
  shape.set(shape.num_dims() - 1, count);
  const Tensor out = new_tensor(ops, shape, "columns.out");
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

Tensor columns_joined(const OpContext& ops,
                      const Tensor& parts,
                      std::int64_t num_parts,
                      const Shape& shape) {
  LOCKSTEP_CHECK(shape.num_elements() == parts.num_elements() && shape.last() % num_parts == 0,
                 "cannot join " + to_text(parts.shape) + " to " + to_text(shape));
  const Tensor out = new_tensor(ops, shape, "columns.joined");
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

void sgd_update(const OpContext& ops, const SgdUpdate& update, std::string_view label) {
  check_same_size(update.parameter, update.gradient);
  const SgdArgs args{.parameter = update.parameter.buffer(),
                     .gradient = update.gradient.buffer(),
                     .lr = update.lr};
  launch_elementwise(
      ops, label, {args.parameter, args.gradient}, args.parameter, ops.kernels.sgd, args);
}

}  // namespace lockstep
