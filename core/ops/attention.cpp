// Launches of attention, and the shapes it takes and gives.
#include "core/ops/attention.h"

#include <cmath>

#include "core/base/errors.h"
#include "core/ops/host.h"

namespace lockstep {
namespace {

SplitQkvArgs qkv_arguments(const Tensor& fused, const Qkv& parts, const QkvGroups& groups) {
  return {.qkv_TW = fused.buffer(),
          .q_TQ = parts.q.buffer(),
          .k_TK = parts.k.buffer(),
          .v_TK = parts.v.buffer(),
          .groups = groups.groups,
          .queries = groups.queries,
          .head_dim = groups.head_dim};
}

void check_qkv(const Qkv& inputs, const AttentionSizes& sizes) {
  LOCKSTEP_CHECK(sizes.batch > 0 && sizes.num_heads > 0 && sizes.num_kv_heads > 0 &&
                     sizes.num_heads % sizes.num_kv_heads == 0 && sizes.head_dim > 0,
                 "attention: " + std::to_string(sizes.num_heads) + " heads of " +
                     std::to_string(sizes.head_dim) + " over " +
                     std::to_string(sizes.num_kv_heads) + " kv heads");
  const std::int64_t token = sizes.batch * sizes.num_heads * sizes.head_dim;
  LOCKSTEP_CHECK(inputs.q.num_elements() % token == 0,
                 "attention: q " + to_text(inputs.q.shape) + " is no whole number of tokens");
  const std::int64_t kv_elements = inputs.q.num_elements() / sizes.num_heads * sizes.num_kv_heads;
  for (const Tensor& tensor : {inputs.k, inputs.v}) {
    LOCKSTEP_CHECK(tensor.num_elements() == kv_elements && tensor.dtype == inputs.q.dtype,
                   "attention: q " + to_text(inputs.q.shape) + " does not fit k or v " +
                       to_text(tensor.shape));
  }
}

// Tokens of a sample.
std::int64_t sequence_of(const Tensor& q, const AttentionSizes& sizes) {
  return q.num_elements() / (sizes.batch * sizes.num_heads * sizes.head_dim);
}

// Of one product over all pairs of tokens that see each other.
std::int64_t product_flops(const Tensor& q, const AttentionSizes& sizes) {
  const std::int64_t seq = sequence_of(q, sizes);
  return sizes.batch * sizes.num_heads * seq * (seq + 1) / 2 * 2 * sizes.head_dim;
}

}  // namespace

Qkv split_qkv(const OpContext& ops, const Tensor& qkv, const QkvGroups& groups) {
  const std::int64_t q_width = groups.groups * groups.queries * groups.head_dim;
  const std::int64_t kv_width = groups.groups * groups.head_dim;
  LOCKSTEP_CHECK(qkv.shape.last() == q_width + 2 * kv_width && kv_width > 0,
                 "split_qkv: " + to_text(qkv.shape) + " is not rows of " +
                     std::to_string(groups.groups) + " groups");
  const Qkv parts{.q = new_tensor(ops, qkv.dtype, qkv.shape.with_last(q_width), "qkv.q"),
                  .k = new_tensor(ops, qkv.dtype, qkv.shape.with_last(kv_width), "qkv.k"),
                  .v = new_tensor(ops, qkv.dtype, qkv.shape.with_last(kv_width), "qkv.v")};
  const SplitQkvArgs args = qkv_arguments(qkv, parts, groups);
  launch_kernel(ops,
                "op.split_qkv",
                {.reads = {args.qkv_TW}, .writes = {args.q_TQ, args.k_TK, args.v_TK}},
                ops.kernels.split_qkv,
                args);
  return parts;
}

Tensor join_qkv(const OpContext& ops, const Qkv& parts, const QkvGroups& groups) {
  const std::int64_t q_width = groups.groups * groups.queries * groups.head_dim;
  const std::int64_t kv_width = groups.groups * groups.head_dim;
  LOCKSTEP_CHECK(parts.q.shape.last() == q_width && kv_width > 0,
                 "join_qkv: q " + to_text(parts.q.shape) + " is not rows of " +
                     std::to_string(groups.groups) + " groups");
  for (const Tensor& tensor : {parts.k, parts.v}) {
    LOCKSTEP_CHECK(
        tensor.shape == parts.q.shape.with_last(kv_width) && tensor.dtype == parts.q.dtype,
        "join_qkv: q " + to_text(parts.q.shape) + " does not fit k or v " + to_text(tensor.shape));
  }
  const Shape shape = parts.q.shape.with_last(q_width + 2 * kv_width);
  const Tensor fused = new_tensor(ops, parts.q.dtype, shape, "qkv.joined");
  const SplitQkvArgs args = qkv_arguments(fused, parts, groups);
  launch_kernel(ops,
                "op.join_qkv",
                {.reads = {args.q_TQ, args.k_TK, args.v_TK}, .writes = {args.qkv_TW}},
                ops.kernels.join_qkv,
                args);
  return fused;
}

RopeTables rope_tables(const OpContext& ops,
                       std::span<const std::int64_t> positions,
                       std::int64_t head_dim,
                       double theta) {
  LOCKSTEP_CHECK(head_dim > 0 && head_dim % 2 == 0,
                 "rope turns pairs: a head of " + std::to_string(head_dim) + " has none");
  const std::int64_t half = head_dim / 2;
  std::vector<double> cosines;
  std::vector<double> sines;
  for (const std::int64_t position : positions) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
      const double angle = static_cast<double>(position) * std::pow(theta, exponent);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  const Shape shape{static_cast<std::int64_t>(positions.size()), half};
  return {.cos = reals_from_host(ops, ops.main_dtype(), cosines, shape, "rope.cos"),
          .sin = reals_from_host(ops, ops.main_dtype(), sines, shape, "rope.sin")};
}

Tensor rope(const OpContext& ops,
            const Tensor& x,
            const RopeTables& tables,
            std::int64_t batch,
            RopeDirection direction) {
  const std::int64_t head_dim = 2 * tables.cos.shape.last();
  LOCKSTEP_CHECK(tables.cos.shape == tables.sin.shape &&
                     tables.cos.dtype == accumulation_type(x.dtype) &&
                     tables.sin.dtype == tables.cos.dtype,
                 "rope: tables do not fit each other or x");
  const std::int64_t rows = tables.cos.shape[0] * batch;
  LOCKSTEP_CHECK(rows > 0 && x.num_elements() % (rows * head_dim) == 0,
                 "rope: x " + to_text(x.shape) + " is not heads for " +
                     std::to_string(tables.cos.shape[0]) + " positions of " +
                     std::to_string(batch) + " samples");
  const Tensor y = new_tensor(ops, x.dtype, x.shape, "rope.y");
  const RopeArgs args{.x_TH = x.buffer(),
                      .cos_SR = tables.cos.buffer(),
                      .sin_SR = tables.sin.buffer(),
                      .y_TH = y.buffer(),
                      .batch = batch,
                      .head_dim = head_dim,
                      .direction = direction == RopeDirection::kForward ? 1 : -1};
  launch_kernel(ops,
                direction == RopeDirection::kForward ? "op.rope" : "op.rope_back",
                {.reads = {args.x_TH, args.cos_SR, args.sin_SR},
                 .writes = {args.y_TH},
                 .flops = 3 * x.num_elements()},
                ops.kernels.rope,
                args);
  return y;
}

AttentionResult attention(const OpContext& ops, const Qkv& inputs, const AttentionSizes& sizes) {
  check_qkv(inputs, sizes);
  const std::int64_t seq = sequence_of(inputs.q, sizes);
  const AttentionResult result{
      .out = new_tensor(ops, inputs.q.dtype, inputs.q.shape, "attention.out"),
      .probabilities = new_tensor(
          ops, ops.main_dtype(), {sizes.batch, sizes.num_heads, seq, seq}, "attention.p")};
  const AttentionArgs args{.q_TQ = inputs.q.buffer(),
                           .k_TK = inputs.k.buffer(),
                           .v_TK = inputs.v.buffer(),
                           .out_TQ = result.out.buffer(),
                           .probabilities_BHSS = result.probabilities.buffer(),
                           .sizes = sizes};
  launch_kernel(ops,
                "op.attention",
                {.reads = {args.q_TQ, args.k_TK, args.v_TK},
                 .writes = {args.out_TQ, args.probabilities_BHSS},
                 .flops = 2 * product_flops(inputs.q, sizes)},
                ops.kernels.attention,
                args);
  return result;
}

Qkv attention_backward(const OpContext& ops,
                       const AttentionSaved& saved,
                       const AttentionSizes& sizes,
                       const Tensor& dout) {
  const Qkv& inputs = saved.inputs;
  check_qkv(inputs, sizes);
  const std::int64_t seq = sequence_of(inputs.q, sizes);
  LOCKSTEP_CHECK(
      dout.num_elements() == inputs.q.num_elements() && dout.dtype == inputs.q.dtype,
      "attention: dout " + to_text(dout.shape) + " does not fit q " + to_text(inputs.q.shape));
  LOCKSTEP_CHECK(saved.probabilities.shape == Shape({sizes.batch, sizes.num_heads, seq, seq}),
                 "attention: probabilities " + to_text(saved.probabilities.shape) +
                     " do not fit q " + to_text(inputs.q.shape));
  const Qkv gradients{.q = new_tensor(ops, inputs.q.dtype, inputs.q.shape, "attention.dq"),
                      .k = new_tensor(ops, inputs.k.dtype, inputs.k.shape, "attention.dk"),
                      .v = new_tensor(ops, inputs.v.dtype, inputs.v.shape, "attention.dv")};
  const AttentionBackwardArgs args{.q_TQ = inputs.q.buffer(),
                                   .k_TK = inputs.k.buffer(),
                                   .v_TK = inputs.v.buffer(),
                                   .probabilities_BHSS = saved.probabilities.buffer(),
                                   .dout_TQ = dout.buffer(),
                                   .dq_TQ = gradients.q.buffer(),
                                   .dk_TK = gradients.k.buffer(),
                                   .dv_TK = gradients.v.buffer(),
                                   .sizes = sizes};
  launch_kernel(ops,
                "op.attention_backward",
                {.reads = {args.q_TQ, args.k_TK, args.v_TK, args.probabilities_BHSS, args.dout_TQ},
                 .writes = {args.dq_TQ, args.dk_TK, args.dv_TK},
                 .flops = 4 * product_flops(inputs.q, sizes)},
                ops.kernels.attention_backward,
                args);
  return gradients;
}

}  // namespace lockstep
