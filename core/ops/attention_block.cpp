// Launches of attention over blocks of keys, and the shapes they take and give.
#include "core/ops/attention_block.h"

#include <limits>
#include <string>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"

namespace lockstep {
namespace {

std::int64_t num_tokens(const Tensor& table) { return table.num_elements() / 3; }

void check_rows(
    const char* what, const Tensor& tensor, DType dtype, std::int64_t tokens, std::int64_t width) {
  LOCKSTEP_CHECK(tensor.num_elements() == tokens * width && tensor.dtype == dtype,
                 std::string("attention block: ") + what + " " + to_text(tensor.shape) +
                     " is not " + std::to_string(tokens) + " rows of " + std::to_string(width));
}

struct BlockRows {
  std::int64_t queries = 0;  // rows
  std::int64_t keys = 0;
  std::int64_t q_width = 0;
  std::int64_t k_width = 0;
};

BlockRows rows_of(const TokenTables& tokens, const AttentionSizes& sizes) {
  for (const Tensor& table : {tokens.queries, tokens.keys}) {
    LOCKSTEP_CHECK(table.dtype == DType::kI64 && table.shape[0] == 3,
                   "attention block: " + to_text(table.shape) + " is no table of tokens");
  }
  return {.queries = num_tokens(tokens.queries) * sizes.batch,
          .keys = num_tokens(tokens.keys) * sizes.batch,
          .q_width = sizes.num_heads * sizes.head_dim,
          .k_width = sizes.num_kv_heads * sizes.head_dim};
}

BlockRows check_block(const Tensor& q,
                      const KeysAndValues& kv,
                      const TokenTables& tokens,
                      const AttentionSizes& sizes) {
  LOCKSTEP_CHECK(sizes.num_kv_heads > 0 && sizes.num_heads % sizes.num_kv_heads == 0,
                 "attention block: " + std::to_string(sizes.num_heads) + " heads over " +
                     std::to_string(sizes.num_kv_heads) + " kv heads");
  const BlockRows rows = rows_of(tokens, sizes);
  check_rows("q", q, q.dtype, rows.queries, rows.q_width);
  check_rows("k", kv.k, q.dtype, rows.keys, rows.k_width);
  check_rows("v", kv.v, q.dtype, rows.keys, rows.k_width);
  return rows;
}

AttentionTokens buffers_of(const TokenTables& tokens) {
  return {.queries_3S = tokens.queries.buffer(), .keys_3U = tokens.keys.buffer()};
}

// Of one product over all pairs of a query and a key.
std::int64_t product_flops(const TokenTables& tokens, const AttentionSizes& sizes) {
  return 2 * num_tokens(tokens.queries) * num_tokens(tokens.keys) * sizes.batch * sizes.num_heads *
         sizes.head_dim;
}

}  // namespace

AttentionState attention_start(const OpContext& ops,
                               const Tensor& q,
                               const AttentionSizes& sizes,
                               const Tensor& sink) {
  const std::int64_t rows = q.num_elements() / (sizes.num_heads * sizes.head_dim);
  const AttentionState state{
      .out = new_tensor(ops, ops.main_dtype(), q.shape, "attention.out"),
      .lse = new_tensor(ops, ops.main_dtype(), {rows, sizes.num_heads}, "attention.lse")};
  fill(ops, state.out, 0.0, "op.attention_start");
  if (!sink) {
    fill(ops, state.lse, -std::numeric_limits<double>::infinity(), "op.attention_start");
    return state;
  }
  check_rows("sink", sink, q.dtype, 1, sizes.num_heads);
  const AttentionSinkArgs args{.sink_H = sink.buffer(), .lse_TH = state.lse.buffer()};
  launch_kernel(ops,
                "op.attention_sink",
                {.reads = {args.sink_H}, .writes = {args.lse_TH}},
                ops.kernels.attention_sink,
                args);
  return state;
}

void attention_block(const OpContext& ops,
                     const Tensor& q,
                     const KeysAndValues& kv,
                     const TokenTables& tokens,
                     const AttentionBlock& block,
                     const AttentionState& state) {
  const BlockRows rows = check_block(q, kv, tokens, block.sizes);
  const DType main = accumulation_type(q.dtype);
  check_rows("out", state.out, main, rows.queries, rows.q_width);
  check_rows("lse", state.lse, main, rows.queries, block.sizes.num_heads);
  const AttentionBlockArgs args{.q_TQ = q.buffer(),
                                .k_UK = kv.k.buffer(),
                                .v_UK = kv.v.buffer(),
                                .tokens = buffers_of(tokens),
                                .lse_TH = state.lse.buffer(),
                                .out_TQ = state.out.buffer(),
                                .block = block};
  launch_kernel(ops,
                "op.attention_block",
                {.reads = {args.q_TQ,
                           args.k_UK,
                           args.v_UK,
                           args.tokens.queries_3S,
                           args.tokens.keys_3U,
                           args.lse_TH,
                           args.out_TQ},
                 .writes = {args.lse_TH, args.out_TQ},
                 .flops = 2 * product_flops(tokens, block.sizes)},
                ops.kernels.attention_block,
                args);
}

Tensor attention_delta(const OpContext& ops,
                       const Tensor& out,
                       const Tensor& dout,
                       const AttentionSizes& sizes) {
  const std::int64_t rows = out.num_elements() / (sizes.num_heads * sizes.head_dim);
  check_rows("dout", dout, dout.dtype, rows, sizes.num_heads * sizes.head_dim);
  check_rows("out", out, accumulation_type(dout.dtype), rows, sizes.num_heads * sizes.head_dim);
  const Tensor delta = new_tensor(ops, out.dtype, {rows, sizes.num_heads}, "attention.delta");
  const AttentionDeltaArgs args{
      .out_TQ = out.buffer(), .dout_TQ = dout.buffer(), .delta_TH = delta.buffer(), .sizes = sizes};
  launch_kernel(ops,
                "op.attention_delta",
                {.reads = {args.out_TQ, args.dout_TQ},
                 .writes = {args.delta_TH},
                 .flops = 2 * out.num_elements()},
                ops.kernels.attention_delta,
                args);
  return delta;
}

void attention_block_backward(const OpContext& ops,
                              const AttentionFinal& final,
                              const KeysAndValues& kv,
                              const TokenTables& tokens,
                              const AttentionBlock& block,
                              const Qkv& gradients) {
  const BlockRows rows = check_block(final.q, kv, tokens, block.sizes);
  const DType main = accumulation_type(final.q.dtype);
  check_rows("dout", final.dout, final.q.dtype, rows.queries, rows.q_width);
  check_rows("lse", final.lse, main, rows.queries, block.sizes.num_heads);
  check_rows("delta", final.delta, main, rows.queries, block.sizes.num_heads);
  check_rows("dq", gradients.q, main, rows.queries, rows.q_width);
  check_rows("dk", gradients.k, main, rows.keys, rows.k_width);
  check_rows("dv", gradients.v, main, rows.keys, rows.k_width);
  const AttentionBlockBackwardArgs args{.q_TQ = final.q.buffer(),
                                        .k_UK = kv.k.buffer(),
                                        .v_UK = kv.v.buffer(),
                                        .tokens = buffers_of(tokens),
                                        .dout_TQ = final.dout.buffer(),
                                        .lse_TH = final.lse.buffer(),
                                        .delta_TH = final.delta.buffer(),
                                        .dq_TQ = gradients.q.buffer(),
                                        .dk_UK = gradients.k.buffer(),
                                        .dv_UK = gradients.v.buffer(),
                                        .block = block};
  launch_kernel(ops,
                "op.attention_block_backward",
                {.reads = {args.q_TQ,
                           args.k_UK,
                           args.v_UK,
                           args.tokens.queries_3S,
                           args.tokens.keys_3U,
                           args.dout_TQ,
                           args.lse_TH,
                           args.delta_TH,
                           args.dq_TQ,
                           args.dk_UK,
                           args.dv_UK},
                 .writes = {args.dq_TQ, args.dk_UK, args.dv_UK},
                 .flops = 5 * product_flops(tokens, block.sizes)},
                ops.kernels.attention_block_backward,
                args);
}

Tensor attention_sink_backward(const OpContext& ops,
                               const Tensor& sink,
                               const Tensor& lse,
                               const Tensor& delta) {
  const std::int64_t rows = lse.num_elements() / lse.shape.last();
  check_rows("lse", lse, accumulation_type(sink.dtype), rows, sink.num_elements());
  check_rows("delta", delta, lse.dtype, rows, sink.num_elements());
  const Tensor dsink = new_tensor(ops, sink.dtype, sink.shape, "attention.dsink");
  const AttentionSinkBackwardArgs args{.sink_H = sink.buffer(),
                                       .lse_TH = lse.buffer(),
                                       .delta_TH = delta.buffer(),
                                       .dsink_H = dsink.buffer()};
  launch_kernel(ops,
                "op.attention_sink_backward",
                {.reads = {args.sink_H, args.lse_TH, args.delta_TH},
                 .writes = {args.dsink_H},
                 .flops = 3 * lse.num_elements()},
                ops.kernels.attention_sink_backward,
                args);
  return dsink;
}

}  // namespace lockstep
