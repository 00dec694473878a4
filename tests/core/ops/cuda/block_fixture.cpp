// Random queries, keys and values of a setting, and launches on them.
#include "tests/core/ops/cuda/block_fixture.h"

#include <limits>

namespace lockstep::test {

Both<BlockInputs> AttentionBlockTest::random_inputs(const BlockSetting& at) {
  const Twin q = random(at.q_shape());
  const Twin sink = at.has_sink ? random({at.block.sizes.num_heads}) : Twin{};
  const Twin queries = table(at.queries);
  Both<BlockInputs> inputs = on_both([&](const OpSide& on) {
    return BlockInputs{.q = on.of(q), .sink = on.of(sink), .blocks = {}};
  });
  for (const Tokens& tokens : at.blocks) {
    const Twin k = random(at.kv_shape(tokens));
    const Twin v = random(at.kv_shape(tokens));
    const Twin keys = table(tokens);
    const Both<BlockOfKeys> block = on_both([&](const OpSide& on) {
      return BlockOfKeys{.kv = {.k = on.of(k), .v = on.of(v)},
                         .tokens = {.queries = on.of(queries), .keys = on.of(keys)}};
    });
    inputs.cpu.blocks.push_back(block.cpu);
    inputs.gpu.blocks.push_back(block.gpu);
  }
  return inputs;
}

AttentionState AttentionBlockTest::merged(const OpContext& ops,
                                          const BlockInputs& inputs,
                                          const BlockSetting& at) {
  const AttentionState state = attention_start(ops, inputs.q, at.block.sizes, inputs.sink);
  for (const BlockOfKeys& block : inputs.blocks) {
    attention_block(ops, inputs.q, block.kv, block.tokens, at.block, state);
  }
  return state;
}

Both<AttentionFinal> AttentionBlockTest::final_of(const Both<BlockInputs>& inputs,
                                                  const BlockSetting& at,
                                                  const Twin& dout) {
  const AttentionState state = merged(cpu(), inputs.cpu, at);
  const Tensor delta = attention_delta(cpu(), state.out, dout.cpu, at.block.sizes);
  const Twin given_lse = reals(state.lse.dtype, values_of(state.lse), state.lse.shape);
  const Twin given_delta = reals(delta.dtype, values_of(delta), delta.shape);
  return on_both([&](const OpSide& on) {
    return AttentionFinal{.q = on.of(inputs).q,
                          .lse = on.of(given_lse),
                          .delta = on.of(given_delta),
                          .dout = on.of(dout)};
  });
}

Both<Qkv> AttentionBlockTest::zeros(const BlockSetting& at, const Tokens& keys) {
  const auto zeros_of = [&](const Shape& shape) {
    const std::vector<double> values(static_cast<std::size_t>(shape.num_elements()), 0.0);
    return reals(cpu().main_dtype(), values, shape);
  };
  const Shape kv_shape = at.kv_shape(keys);
  return accumulators(zeros_of(at.q_shape()), zeros_of(kv_shape), zeros_of(kv_shape));
}

Both<Qkv> AttentionBlockTest::random_sums(const BlockSetting& at, const Tokens& keys) {
  const Twin q = random_main(at.q_shape());
  const Twin k = random_main(at.kv_shape(keys));
  const Twin v = random_main(at.kv_shape(keys));
  return accumulators(q, k, v);
}

void AttentionBlockTest::differentiate(const OpContext& ops,
                                       const AttentionFinal& final,
                                       const BlockOfKeys& block,
                                       const BlockSetting& at,
                                       const Qkv& gradients) {
  attention_block_backward(ops, final, block.kv, block.tokens, at.block, gradients);
}

Tensor AttentionBlockTest::poisoned(const Tensor& tensor, std::int64_t element) {
  std::vector<double> numbers = read_gpu(tensor);
  numbers.at(static_cast<std::size_t>(element)) = std::numeric_limits<double>::quiet_NaN();
  return reals(tensor.dtype, numbers, tensor.shape).gpu;
}

Twin AttentionBlockTest::table(const Tokens& tokens) {
  const Shape shape{3, static_cast<std::int64_t>(tokens.size())};
  const Twin flat = integers(table_of(tokens));
  return {.cpu = flat.cpu.reshaped(shape), .gpu = flat.gpu.reshaped(shape)};
}

Both<Qkv> AttentionBlockTest::accumulators(const Both<Tensor>& q,
                                           const Both<Tensor>& k,
                                           const Both<Tensor>& v) {
  return {.cpu = {.q = q.cpu, .k = k.cpu, .v = v.cpu}, .gpu = {.q = q.gpu, .k = k.gpu, .v = v.gpu}};
}

}  // namespace lockstep::test
