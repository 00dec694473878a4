// Elementwise ops: launches and shapes.
#include "core/ops/elementwise.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

// `inputs` reads and one write of the same number of elements.
Cost streaming_cost(const Tensor& out, std::int64_t num_inputs) {
  return {.flops = out.num_elements(), .bytes = (num_inputs + 1) * out.buffer().num_bytes()};
}

void check_same_size(const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(a.num_elements() == b.num_elements(),
                 "sizes differ: " + to_text(a.shape) + " and " + to_text(b.shape));
}

void launch_scale(const OpContext& ops,
                  const Tensor& x,
                  const Tensor& out,
                  double factor,
                  std::string_view label) {
  const ScaleArgs args{.x = x.buffer(), .out = out.buffer(), .factor = factor};
  launch_kernel(
      ops, label, {&args.x, 1}, {&args.out, 1}, streaming_cost(out, 1), ops.kernels.scale, args);
}

void launch_copy_columns(const OpContext& ops, const CopyColumnsArgs& args) {
  const Cost cost{.flops = 0, .bytes = 2 * args.rows * args.width * element_bytes(ops.dtype)};
  launch_kernel(
      ops, "op.copy_columns", {&args.from, 1}, {&args.to, 1}, cost, ops.kernels.copy_columns, args);
}

}  // namespace

Tensor silu(const OpContext& ops, const Tensor& x) {
  const Tensor out = new_tensor(ops, x.shape, "silu.out");
  const UnaryArgs args{.x = x.buffer(), .out = out.buffer()};
  launch_kernel(
      ops, "op.silu", {&args.x, 1}, {&args.out, 1}, streaming_cost(out, 1), ops.kernels.silu, args);
  return out;
}

Tensor silu_backward(const OpContext& ops, const Tensor& x, const Tensor& dy) {
  check_same_size(x, dy);
  const Tensor out = new_tensor(ops, x.shape, "silu.dx");
  const UnaryBackwardArgs args{.x = x.buffer(), .dy = dy.buffer(), .out = out.buffer()};
  const Buffer reads[] = {args.x, args.dy};
  launch_kernel(ops,
                "op.silu_backward",
                reads,
                {&args.out, 1},
                streaming_cost(out, 2),
                ops.kernels.silu_backward,
                args);
  return out;
}

Tensor add(const OpContext& ops, const Tensor& a, const Tensor& b) {
  check_same_size(a, b);
  const Tensor out = new_tensor(ops, a.shape, "add.out");
  const AddArgs args{.a = a.buffer(), .b = b.buffer(), .out = out.buffer()};
  const Buffer reads[] = {args.a, args.b};
  launch_kernel(
      ops, "op.add", reads, {&args.out, 1}, streaming_cost(out, 2), ops.kernels.add, args);
  return out;
}

Tensor copy(const OpContext& ops, const Tensor& x) { return columns(ops, x, 0, x.shape.last()); }

void fill(const OpContext& ops, const Tensor& out, double value, std::string_view label) {
  const FillArgs args{.out = out.buffer(), .value = value};
  launch_kernel(ops, label, {}, {&args.out, 1}, streaming_cost(out, 0), ops.kernels.fill, args);
}

void accumulate(const OpContext& ops, const Tensor& x, const Tensor& out, std::string_view label) {
  check_same_size(x, out);
  const AccumulateArgs args{.x = x.buffer(), .out = out.buffer()};
  const Buffer reads[] = {args.x, args.out};
  launch_kernel(
      ops, label, reads, {&args.out, 1}, streaming_cost(out, 2), ops.kernels.accumulate, args);
}

void scale_in_place(const OpContext& ops, const Tensor& x, double factor, std::string_view label) {
  launch_scale(ops, x, x, factor, label);
}

Tensor scaled(const OpContext& ops, const Tensor& x, double factor) {
  const Tensor out = new_tensor(ops, x.shape, "scale.out");
  launch_scale(ops, x, out, factor, "op.scale");
  return out;
}

Tensor scaled_by(const OpContext& ops, const Tensor& x, const Tensor& factor) {
  const Tensor out = new_tensor(ops, x.shape, "scale_by.out");
  const ScaleByArgs args{.x = x.buffer(), .factor = factor.buffer(), .out = out.buffer()};
  const Buffer reads[] = {args.x, args.factor};
  launch_kernel(ops,
                "op.scale_by",
                reads,
                {&args.out, 1},
                streaming_cost(out, 1),
                ops.kernels.scale_by,
                args);
  return out;
}

Tensor weighted_sum(const OpContext& ops, const Tensor& x, const Tensor& weight) {
  check_same_size(x, weight);
  const Tensor out = new_tensor(ops, {1}, "weighted_sum.out");
  const WeightedSumArgs args{.x = x.buffer(), .weight = weight.buffer(), .out = out.buffer()};
  const Buffer reads[] = {args.x, args.weight};
  launch_kernel(ops,
                "op.weighted_sum",
                reads,
                {&args.out, 1},
                streaming_cost(x, 1),
                ops.kernels.weighted_sum,
                args);
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

Tensor columns_parted(const OpContext& ops, const Tensor& x, std::int64_t num_parts) {
  LOCKSTEP_CHECK(x.shape.last() % num_parts == 0, "cannot part " + to_text(x.shape));
  const std::int64_t width = x.shape.last() / num_parts;
  const std::int64_t rows = x.num_elements() / x.shape.last();
  const Tensor out = new_tensor(ops, {num_parts, rows, width}, "columns.parted");
  for (std::int64_t part = 0; part < num_parts; ++part) {
    Buffer to = out.buffer();
    to.offset += part * rows * width;
    to.count = rows * width;
    launch_copy_columns(ops,
                        {.from = x.buffer(),
                         .to = to,
                         .rows = rows,
                         .width = width,
                         .from_stride = x.shape.last(),
                         .from_first = part * width,
                         .to_stride = width,
                         .to_first = 0});
  }
  return out;
}

void sgd_update(const OpContext& ops, const SgdUpdate& update, std::string_view label) {
  check_same_size(update.parameter, update.gradient);
  const SgdArgs args{.parameter = update.parameter.buffer(),
                     .gradient = update.gradient.buffer(),
                     .lr = update.lr};
  const Buffer reads[] = {args.parameter, args.gradient};
  launch_kernel(ops,
                label,
                reads,
                {&args.parameter, 1},
                streaming_cost(update.parameter, 2),
                ops.kernels.sgd,
                args);
}

}  // namespace lockstep
