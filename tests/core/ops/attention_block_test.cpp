// Attention over blocks of keys: its formula, what a query sees, and that cuts change nothing.
#include "core/ops/attention_block.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "tests/core/ops/block_problem.h"

namespace lockstep {
namespace {

using test::block_problem;
using test::block_setting;
using test::BlockGradients;
using test::BlockProblem;
using test::BlockSetting;
using test::KeyRange;
using test::merged;
using test::OpFixture;
using test::relative_error;
using test::run_of;
using test::value_at;
using test::values_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<BlockSetting> all_settings() {
  std::vector<BlockSetting> all = test::compact_settings();
  for (const BlockSetting& setting : test::block_settings()) all.push_back(setting);
  return all;
}

std::string setting_name(const testing::TestParamInfo<BlockSetting>& row) {
  std::string name;
  for (const char c : row.param.name) {
    if (c != ',') name += c == ' ' ? '_' : c;
  }
  return name;
}

// Causal attention of 11 tokens of two samples in one block.
BlockSetting causal_setting() {
  return block_setting("causal",
                       run_of(0, 11),
                       {run_of(0, 11)},
                       {.batch = 2, .heads = 6, .kv_heads = 2, .head_dim = 5});
}

class EveryBlockSetting : public testing::TestWithParam<BlockSetting>, protected OpFixture {};

TEST_P(EveryBlockSetting, GivesTheOutputAndLogSumExpOfTheFormula) {
  const BlockProblem problem = block_problem(*this, GetParam());
  const AttentionState state = merged(ops(), problem);
  const test::PlainAttention plain = test::plain_attention(problem);
  EXPECT_LT(relative_error(values_of(state.out), plain.out), 1e-14);
  const std::vector<double> lse = values_of(state.lse);
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (plain.lse[i] == -kInfinity) {
      EXPECT_EQ(lse[i], -kInfinity);
    } else {
      EXPECT_NEAR(lse[i], plain.lse[i], 1e-14);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryBlockSetting, testing::ValuesIn(all_settings()), setting_name);

class AttentionOverBlocks : public testing::Test, protected OpFixture {};

TEST_F(AttentionOverBlocks, OverAllKeysIsCausalAttention) {
  const BlockProblem problem = block_problem(*this, causal_setting());
  const AttentionSizes& sizes = problem.at.block.sizes;
  const KeysAndValues& kv = problem.blocks[0].kv;
  const Qkv inputs{.q = problem.q, .k = kv.k, .v = kv.v};
  const AttentionResult expected = attention(ops(), inputs, sizes);
  EXPECT_LT(relative_error(values_of(merged(ops(), problem).out), values_of(expected.out)), 1e-14);
  const Tensor dout = random(problem.q.shape);
  const Qkv expected_gradients = attention_backward(
      ops(), {.inputs = inputs, .probabilities = expected.probabilities}, sizes, dout);
  const BlockGradients gradients = test::differentiated(*this, problem, dout);
  EXPECT_LT(relative_error(values_of(gradients.q), values_of(expected_gradients.q)), 1e-13);
  EXPECT_LT(relative_error(values_of(gradients.blocks[0].k), values_of(expected_gradients.k)),
            1e-13);
  EXPECT_LT(relative_error(values_of(gradients.blocks[0].v), values_of(expected_gradients.v)),
            1e-13);
}

// Of 12 keys: each alone, uneven ones from the last to the first, and two in the middle before all
// others.
const std::vector<std::vector<KeyRange>> kCuts{
    {{.first = 0, .count = 1},
     {.first = 1, .count = 1},
     {.first = 2, .count = 1},
     {.first = 3, .count = 1},
     {.first = 4, .count = 1},
     {.first = 5, .count = 1},
     {.first = 6, .count = 1},
     {.first = 7, .count = 1},
     {.first = 8, .count = 1},
     {.first = 9, .count = 1},
     {.first = 10, .count = 1},
     {.first = 11, .count = 1}},
    {{.first = 11, .count = 1}, {.first = 4, .count = 7}, {.first = 0, .count = 4}},
    {{.first = 5, .count = 2}, {.first = 7, .count = 5}, {.first = 0, .count = 5}}};

TEST_F(AttentionOverBlocks, HoweverKeysAreCutAndOrderedTheResultAndItsGradientsAreTheSame) {
  BlockSetting at = block_setting("whole",
                                  run_of(0, 12),
                                  {run_of(0, 12)},
                                  {.batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 5});
  at.has_sink = true;
  at.block.dropout = {.probability = 0.2, .seed = 3, .stream = 4};
  at.block.seq = 12;
  at.block.all_heads = 4;
  const BlockProblem whole = block_problem(*this, at);
  const AttentionState expected = merged(ops(), whole);
  const Tensor dout = random(whole.q.shape);
  const BlockGradients gradients = test::differentiated(*this, whole, dout);
  for (const std::vector<KeyRange>& ranges : kCuts) {
    const BlockProblem cut = test::recut(*this, whole, ranges);
    const AttentionState state = merged(ops(), cut);
    EXPECT_LT(relative_error(values_of(state.out), values_of(expected.out)), 1e-14);
    EXPECT_LT(relative_error(values_of(state.lse), values_of(expected.lse)), 1e-14);
    const BlockGradients parts = test::differentiated(*this, cut, dout);
    EXPECT_LT(relative_error(values_of(parts.q), values_of(gradients.q)), 1e-14);
    EXPECT_LT(relative_error(values_of(parts.sink), values_of(gradients.sink)), 1e-13);
    for (std::size_t b = 0; b < ranges.size(); ++b) {
      const std::int64_t first = ranges[b].first * at.block.sizes.batch;
      const std::int64_t count = ranges[b].count * at.block.sizes.batch;
      EXPECT_LT(relative_error(values_of(parts.blocks[b].k),
                               values_of(gradients.blocks[0].k.rows(first, count))),
                1e-13);
      EXPECT_LT(relative_error(values_of(parts.blocks[b].v),
                               values_of(gradients.blocks[0].v.rows(first, count))),
                1e-13);
    }
  }
}

TEST_F(AttentionOverBlocks, ThatAQueryDoesNotSeeLeavesEveryBitOfItsState) {
  // Tokens 3 to 7 see none of the keys 6 to 9 before token 6.
  const BlockSetting at = block_setting(
      "late keys", run_of(3, 5), {run_of(6, 4)}, {.heads = 2, .kv_heads = 1, .head_dim = 4});
  const BlockProblem problem = block_problem(*this, at);
  const AttentionState state{.out = random_main(at.q_shape()),
                             .lse = random_main(at.state_shape())};
  state.lse.data<double>()[0] = -kInfinity;
  const std::vector<double> out = values_of(state.out);
  const std::vector<double> lse = values_of(state.lse);
  const test::KeyBlock& block = problem.blocks[0];
  attention_block(ops(), problem.q, block.kv, block.tokens, at.block, state);
  for (std::int64_t i = 0; i < state.out.num_elements(); ++i) {
    EXPECT_EQ(value_at(state.out, i) == out[static_cast<std::size_t>(i)], i / 8 < 3) << i;
  }
  for (std::int64_t i = 0; i < state.lse.num_elements(); ++i) {
    EXPECT_EQ(value_at(state.lse, i) == lse[static_cast<std::size_t>(i)], i / 2 < 3) << i;
  }
}

TEST_F(AttentionOverBlocks, BeforeAnyBlockASoftmaxHasNothingOrItsSink) {
  const AttentionSizes sizes{.batch = 2, .num_heads = 3, .num_kv_heads = 1, .head_dim = 2};
  const Tensor q = random({4, 6});
  const AttentionState nothing = attention_start(ops(), q, sizes, {});
  EXPECT_EQ(nothing.lse.shape, Shape({4, 3}));
  EXPECT_EQ(values_of(nothing.lse), std::vector<double>(12, -kInfinity));
  EXPECT_EQ(values_of(nothing.out), std::vector<double>(24, 0.0));
  const AttentionState sunk = attention_start(ops(), q, sizes, reals({0.5, -2.0, 3.0}, {3}));
  EXPECT_EQ(values_of(sunk.lse),
            (std::vector<double>{0.5, -2.0, 3.0, 0.5, -2.0, 3.0, 0.5, -2.0, 3.0, 0.5, -2.0, 3.0}));
  EXPECT_EQ(values_of(sunk.out), std::vector<double>(24, 0.0));
}

TEST_F(AttentionOverBlocks, OfOneKeyBesideASinkIsALogisticFunctionOfTheScore) {
  BlockSetting at = block_setting("sink", run_of(0, 1), {run_of(0, 1)}, {});
  at.has_sink = true;
  BlockProblem problem = block_problem(*this, at);
  problem.q = reals({1.5}, {1, 1});
  problem.sink = reals({0.25}, {1});
  problem.blocks[0].kv = {.k = reals({2.0}, {1, 1}), .v = reals({-4.0}, {1, 1})};
  const AttentionState state = merged(ops(), problem);
  EXPECT_DOUBLE_EQ(value_at(state.lse, 0), std::log(std::exp(0.25) + std::exp(3.0)));
  EXPECT_DOUBLE_EQ(value_at(state.out, 0), -4.0 / (1.0 + std::exp(0.25 - 3.0)));
}

// A log-sum-exp of 1e6 holds the log 2 in it to an ulp of 1e-10.
TEST_F(AttentionOverBlocks, LargeScoresDoNotOverflow) {
  const BlockSetting at = block_setting("large", run_of(0, 2), {run_of(0, 1), run_of(1, 1)}, {});
  BlockProblem problem = block_problem(*this, at);
  problem.q = reals({1e3, 1e3}, {2, 1});
  problem.blocks[0].kv = {.k = reals({1e3}, {1, 1}), .v = reals({1.0}, {1, 1})};
  problem.blocks[1].kv = {.k = reals({1e3}, {1, 1}), .v = reals({2.0}, {1, 1})};
  const Tensor out = merged(ops(), problem).out;
  EXPECT_EQ(value_at(out, 0), 1.0);
  EXPECT_NEAR(value_at(out, 1), 1.5, 2e-10);
}

TEST_F(AttentionOverBlocks, DropoutOfSomeHeadsAndSamplesIsThatOfAll) {
  BlockSetting at = causal_setting();
  at.block.dropout = {.probability = 0.5, .seed = 3, .stream = 4};
  at.block.seq = 11;
  at.block.all_heads = 6;
  at.block.first_token = 44;
  const BlockProblem all = block_problem(*this, at);
  const Tensor out = merged(ops(), all).out;
  // The second sample's heads 3 to 5, which read kv head 1, alone.
  const auto part = [&](const Tensor& x, std::int64_t width) {
    std::vector<double> numbers;
    for (std::int64_t s = 0; s < 11; ++s) {
      for (std::int64_t i = width; i < 2 * width; ++i) {
        numbers.push_back(value_at(x, (2 * s + 1) * 2 * width + i));
      }
    }
    return reals(numbers, {11, width});
  };
  BlockProblem some = all;
  some.at.block.sizes.batch = 1;
  some.at.block.sizes.num_heads = 3;
  some.at.block.sizes.num_kv_heads = 1;
  some.at.block.first_head = 3;
  some.at.block.first_token = 55;
  some.q = part(all.q, 15);
  some.blocks[0].kv = {.k = part(all.blocks[0].kv.k, 5), .v = part(all.blocks[0].kv.v, 5)};
  EXPECT_EQ(values_of(merged(ops(), some).out), values_of(part(out, 15)));
}

TEST_F(AttentionOverBlocks, ShapesThatDoNotFitAreRefused) {
  const BlockProblem problem = block_problem(*this, causal_setting());
  const AttentionBlock& block = problem.at.block;
  const KeysAndValues& kv = problem.blocks[0].kv;
  const TokenTables& tokens = problem.blocks[0].tokens;
  const AttentionState state = merged(ops(), problem);
  const auto attend = [&](const Tensor& q,
                          const KeysAndValues& keys,
                          const TokenTables& tables,
                          const AttentionBlock& at,
                          const AttentionState& into) {
    attention_block(ops(), q, keys, tables, at, into);
  };
  attend(problem.q, kv, tokens, block, state);
  AttentionBlock uneven = block;
  uneven.sizes.num_kv_heads = 4;
  EXPECT_THROW(attend(problem.q, kv, tokens, uneven, state), InternalError);
  EXPECT_THROW(attend(problem.q.rows(0, 21), kv, tokens, block, state), InternalError);
  EXPECT_THROW(attend(problem.q, {.k = kv.k, .v = kv.v.rows(0, 20)}, tokens, block, state),
               InternalError);
  EXPECT_THROW(attend(problem.q, {.k = kv.k.rows(0, 20), .v = kv.v}, tokens, block, state),
               InternalError);
  const Tensor flat = tokens.keys.reshaped({33});
  EXPECT_THROW(attend(problem.q, kv, {.queries = tokens.queries, .keys = flat}, block, state),
               InternalError);
  EXPECT_THROW(attend(problem.q, kv, tokens, block, {.out = state.out, .lse = state.out}),
               InternalError);
  EXPECT_THROW(attend(problem.q, kv, tokens, block, {.out = state.lse, .lse = state.lse}),
               InternalError);
  EXPECT_THROW(attention_start(ops(), problem.q, block.sizes, random({5})), InternalError);
}

}  // namespace
}  // namespace lockstep
