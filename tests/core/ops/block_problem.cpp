// Blocks of keys on one device, and attention over them written out.
#include "tests/core/ops/block_problem.h"

#include <cmath>
#include <limits>

#include "core/base/random.h"
#include "core/ops/elementwise.h"

namespace lockstep::test {
namespace {

Tensor zeros_like(const OpFixture& fixture, const Tensor& x) {
  const std::vector<double> numbers(static_cast<std::size_t>(x.num_elements()), 0.0);
  return fixture.reals(fixture.ops().main_dtype(), numbers, x.shape);
}

// One query token of one head of one sample, written out.
struct PlainRow {
  const BlockProblem& problem;
  std::int64_t s;
  std::int64_t sample;
  std::int64_t head;

  const AttentionSizes& sizes() const { return problem.at.block.sizes; }
  // Where this head of a token begins.
  std::int64_t query_start() const {
    return ((s * sizes().batch + sample) * sizes().num_heads + head) * sizes().head_dim;
  }
  std::int64_t key_start(std::int64_t u) const {
    const std::int64_t kv_head = head / (sizes().num_heads / sizes().num_kv_heads);
    return ((u * sizes().batch + sample) * sizes().num_kv_heads + kv_head) * sizes().head_dim;
  }
  double score(const KeyBlock& block, std::int64_t u) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < sizes().head_dim; ++i) {
      sum += value_at(problem.q, query_start() + i) * value_at(block.kv.k, key_start(u) + i);
    }
    return sizes().scale * sum;
  }
  double factor(const Token& query, const Token& key) const {
    const AttentionBlock& at = problem.at.block;
    const std::int64_t query_token = at.first_token + sample * at.seq + query.position;
    const std::int64_t index =
        (query_token * at.all_heads + at.first_head + head) * at.seq + key.position;
    const double draw =
        random_unit(at.dropout.seed, at.dropout.stream, static_cast<std::uint64_t>(index));
    return draw < at.dropout.probability ? 0.0 : 1.0 / (1.0 - at.dropout.probability);
  }
};

// Adds what the row has of its sum of exponentials and of its output, not yet divided by it.
double add_row(const PlainRow& row, std::vector<double>& out) {
  const BlockProblem& problem = row.problem;
  const Token& query = problem.at.queries[static_cast<std::size_t>(row.s)];
  double sum = problem.sink ? std::exp(value_at(problem.sink, row.head)) : 0.0;
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    const Tokens& keys = problem.at.blocks[b];
    for (std::size_t u = 0; u < keys.size(); ++u) {
      if (!problem.at.sees(query, keys[u])) continue;
      const KeyBlock& block = problem.blocks[b];
      const double weight = std::exp(row.score(block, static_cast<std::int64_t>(u)));
      sum += weight;
      const double kept = weight * row.factor(query, keys[u]);
      for (std::int64_t i = 0; i < row.sizes().head_dim; ++i) {
        out[static_cast<std::size_t>(row.query_start() + i)] +=
            kept * value_at(block.kv.v, row.key_start(static_cast<std::int64_t>(u)) + i);
      }
    }
  }
  return sum;
}

void set_dropout(AttentionBlock& block, double probability) {
  block.dropout = {.probability = probability, .seed = 5, .stream = 0xabcdef0123456789ULL};
  block.first_token = 96;
  block.seq = 24;
  block.first_head = 2;
  block.all_heads = 2 + block.sizes.num_heads + 1;
}

}  // namespace

Tensor token_table(const OpFixture& fixture, const Tokens& tokens) {
  return fixture.integers(table_of(tokens)).reshaped({3, static_cast<std::int64_t>(tokens.size())});
}

BlockProblem block_problem(OpFixture& fixture, const BlockSetting& at) {
  BlockProblem problem{.at = at, .q = fixture.random(at.q_shape()), .sink = {}, .blocks = {}};
  if (at.has_sink) problem.sink = fixture.random({at.block.sizes.num_heads});
  const Tensor queries = token_table(fixture, at.queries);
  for (const Tokens& keys : at.blocks) {
    const Tensor k = fixture.random(at.kv_shape(keys));
    const Tensor v = fixture.random(at.kv_shape(keys));
    problem.blocks.push_back({.kv = {.k = k, .v = v},
                              .tokens = {.queries = queries, .keys = token_table(fixture, keys)}});
  }
  return problem;
}

BlockProblem recut(const OpFixture& fixture,
                   const BlockProblem& problem,
                   const std::vector<KeyRange>& parts) {
  BlockProblem cut = problem;
  cut.at.blocks.clear();
  cut.blocks.clear();
  const std::int64_t batch = problem.at.block.sizes.batch;
  for (const KeyRange& part : parts) {
    const auto index = static_cast<std::size_t>(part.block);
    const auto first = problem.at.blocks[index].begin() + part.first;
    const Tokens keys(first, first + part.count);
    const KeyBlock& whole = problem.blocks[index];
    cut.at.blocks.push_back(keys);
    cut.blocks.push_back(
        {.kv = {.k = whole.kv.k.rows(part.first * batch, part.count * batch),
                .v = whole.kv.v.rows(part.first * batch, part.count * batch)},
         .tokens = {.queries = whole.tokens.queries, .keys = token_table(fixture, keys)}});
  }
  return cut;
}

AttentionState merged(const OpContext& ops, const BlockProblem& problem) {
  const AttentionState state =
      attention_start(ops, problem.q, problem.at.block.sizes, problem.sink);
  for (const KeyBlock& block : problem.blocks) {
    attention_block(ops, problem.q, block.kv, block.tokens, problem.at.block, state);
  }
  return state;
}

Qkv zero_gradients(const OpFixture& fixture, const BlockProblem& problem, std::size_t block) {
  return {.q = zeros_like(fixture, problem.q),
          .k = zeros_like(fixture, problem.blocks[block].kv.k),
          .v = zeros_like(fixture, problem.blocks[block].kv.v)};
}

AttentionFinal final_of(const OpContext& ops,
                        const BlockProblem& problem,
                        const AttentionState& state,
                        const Tensor& dout) {
  return {.q = problem.q,
          .lse = state.lse,
          .delta = attention_delta(ops, state.out, dout, problem.at.block.sizes),
          .dout = dout};
}

BlockGradients differentiated(const OpFixture& fixture,
                              const BlockProblem& problem,
                              const Tensor& dout) {
  const OpContext& ops = fixture.ops();
  const AttentionFinal final = final_of(ops, problem, merged(ops, problem), dout);
  BlockGradients gradients{.q = zeros_like(fixture, problem.q), .blocks = {}, .sink = {}};
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    const Qkv zeros = zero_gradients(fixture, problem, b);
    const KeyBlock& block = problem.blocks[b];
    attention_block_backward(ops,
                             final,
                             block.kv,
                             block.tokens,
                             problem.at.block,
                             {.q = gradients.q, .k = zeros.k, .v = zeros.v});
    gradients.blocks.push_back({.k = zeros.k, .v = zeros.v});
  }
  if (problem.sink) {
    gradients.sink = attention_sink_backward(ops, problem.sink, final.lse, final.delta);
  }
  return gradients;
}

PlainAttention plain_attention(const BlockProblem& problem) {
  const AttentionSizes& sizes = problem.at.block.sizes;
  PlainAttention plain;
  plain.out.resize(static_cast<std::size_t>(problem.at.q_shape().num_elements()));
  const std::int64_t count = problem.at.state_shape().num_elements();
  for (std::int64_t index = 0; index < count; ++index) {
    const PlainRow row{.problem = problem,
                       .s = index / sizes.num_heads / sizes.batch,
                       .sample = index / sizes.num_heads % sizes.batch,
                       .head = index % sizes.num_heads};
    const double sum = add_row(row, plain.out);
    plain.lse.push_back(std::log(sum));
    for (std::int64_t i = 0; sum > 0.0 && i < sizes.head_dim; ++i) {
      plain.out[static_cast<std::size_t>(row.query_start() + i)] /= sum;
    }
  }
  return plain;
}

std::vector<BlockSetting> compact_settings() {
  const BlockSizes sizes{.batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 3};
  const Tokens documents = packed({3, 5, 1}, 2);
  const Tokens ring = joined({run_of(2, 2), run_of(8, 2)});
  const std::vector<Tokens> owners{
      ring, joined({run_of(0, 2), run_of(10, 2)}), joined({run_of(4, 2), run_of(6, 2)})};
  BlockSetting window =
      block_setting("narrow window", run_of(2, 6), {run_of(0, 3), run_of(3, 5)}, sizes);
  window.block.window = 3;
  BlockSetting packing = block_setting("documents and dropout", documents, {documents}, sizes);
  set_dropout(packing.block, 0.3);
  BlockSetting sinks = block_setting("ring with a sink and dropout", ring, owners, sizes);
  sinks.has_sink = true;
  set_dropout(sinks.block, 0.25);
  // As ranks 0 and 1 of two hold their chunks: what a query sees, and what sees a key, has gaps.
  const Tokens first{joined({run_of(0, 2), run_of(6, 2)})};
  const Tokens gathered{joined({first, run_of(2, 2), run_of(4, 2)})};
  const BlockSetting gaps = block_setting(
      "gathered chunks", joined({run_of(6, 2), run_of(2, 2), run_of(7, 3)}), {gathered}, sizes);
  BlockSetting all = block_setting("documents, window, sink and dropout",
                                   documents,
                                   {packed({3, 2}, 2), documents},
                                   {.batch = 1, .heads = 3, .kv_heads = 1, .head_dim = 9});
  all.block.window = 2;
  all.has_sink = true;
  set_dropout(all.block, 0.5);
  return {window, packing, sinks, gaps, all};
}

}  // namespace lockstep::test
