// Attention over blocks of keys, backward: against difference quotients, what is added to, and what
// unseen keys, that may be NaN, take part in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "tests/core/ops/block_problem.h"

namespace lockstep {
namespace {

using test::block_problem;
using test::BlockGradients;
using test::BlockProblem;
using test::BlockSetting;
using test::differentiated;
using test::directional_derivative;
using test::inner;
using test::merged;
using test::numeric_gradient;
using test::OpFixture;
using test::relative_error;
using test::Token;
using test::Tokens;
using test::value_at;
using test::values_of;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string setting_name(const testing::TestParamInfo<BlockSetting>& row) {
  std::string name;
  for (const char c : row.param.name) {
    if (c != ',') name += c == ' ' ? '_' : c;
  }
  return name;
}

// An input and its gradient.
struct Differentiated {
  std::string name;
  Tensor x;
  Tensor dx;
};
std::vector<Differentiated> inputs_of(const BlockProblem& problem,
                                      const BlockGradients& gradients) {
  std::vector<Differentiated> inputs{{.name = "q", .x = problem.q, .dx = gradients.q}};
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    const std::string block = std::to_string(b);
    const KeysAndValues& kv = problem.blocks[b].kv;
    inputs.push_back({.name = "k" + block, .x = kv.k, .dx = gradients.blocks[b].k});
    inputs.push_back({.name = "v" + block, .x = kv.v, .dx = gradients.blocks[b].v});
  }
  if (problem.sink) inputs.push_back({.name = "sink", .x = problem.sink, .dx = gradients.sink});
  return inputs;
}

bool is_zero(const Tensor& x) {
  const std::vector<double> numbers = values_of(x);
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == 0.0; });
}

class CompactBlockSetting : public testing::TestWithParam<BlockSetting>, protected OpFixture {};

TEST_P(CompactBlockSetting, HasGradientsThatAgreeWithFiniteDifferencesInEveryElement) {
  const BlockProblem problem = block_problem(*this, GetParam());
  const Tensor dout = random(problem.q.shape);
  for (const Differentiated& input : inputs_of(problem, differentiated(*this, problem, dout))) {
    const std::vector<double> numeric =
        numeric_gradient(input.x, dout, [&] { return merged(ops(), problem).out; });
    EXPECT_LT(relative_error(values_of(input.dx), numeric), 1e-8) << input.name;
    EXPECT_FALSE(is_zero(input.dx)) << input.name << ": nothing is compared";
  }
}

INSTANTIATE_TEST_SUITE_P(,
                         CompactBlockSetting,
                         testing::ValuesIn(test::compact_settings()),
                         setting_name);

class LargeBlockSetting : public testing::TestWithParam<BlockSetting>, protected OpFixture {};

TEST_P(LargeBlockSetting, HasGradientsThatAreTheAdjointAlongRandomDirections) {
  const BlockProblem problem = block_problem(*this, GetParam());
  const Tensor dout = random(problem.q.shape);
  for (const Differentiated& input : inputs_of(problem, differentiated(*this, problem, dout))) {
    for (int repetition = 0; repetition < 2; ++repetition) {
      const Tensor direction = random(input.x.shape);
      const double forward_side = directional_derivative(
          input.x, direction, dout, [&] { return merged(ops(), problem).out; });
      EXPECT_NEAR(forward_side, inner(direction, input.dx), 1e-7) << input.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(,
                         LargeBlockSetting,
                         testing::ValuesIn(test::block_settings()),
                         setting_name);

class AttentionBlockBackward : public testing::Test, protected OpFixture {
 protected:
  // Of the first block alone.
  Qkv first_block_added_to(const BlockProblem& problem, const Tensor& dout, const Qkv& sums) {
    const AttentionFinal final = test::final_of(ops(), problem, merged(ops(), problem), dout);
    const test::KeyBlock& block = problem.blocks[0];
    attention_block_backward(ops(), final, block.kv, block.tokens, problem.at.block, sums);
    return sums;
  }
};

TEST_F(AttentionBlockBackward, AddsToWhatIsThereWithOneRounding) {
  const BlockProblem problem = block_problem(*this, test::compact_settings()[1]);
  const Tensor dout = random(problem.q.shape);
  const Qkv alone = first_block_added_to(problem, dout, test::zero_gradients(*this, problem, 0));
  const Qkv before{.q = random(problem.q.shape),
                   .k = random(problem.blocks[0].kv.k.shape),
                   .v = random(problem.blocks[0].kv.v.shape)};
  const auto sum_of = [](const Tensor& a, const Tensor& b) {
    std::vector<double> sum;
    for (std::int64_t i = 0; i < a.num_elements(); ++i) {
      sum.push_back(value_at(a, i) + value_at(b, i));
    }
    return sum;
  };
  const std::vector<double> q = sum_of(before.q, alone.q);
  const std::vector<double> k = sum_of(before.k, alone.k);
  const std::vector<double> v = sum_of(before.v, alone.v);
  first_block_added_to(problem, dout, before);
  EXPECT_EQ(values_of(before.q), q);
  EXPECT_EQ(values_of(before.k), k);
  EXPECT_EQ(values_of(before.v), v);
}

bool sees_any(const BlockSetting& at, const Token& query, const Tokens& keys) {
  return std::any_of(
      keys.begin(), keys.end(), [&](const Token& key) { return at.sees(query, key); });
}

bool is_seen(const BlockSetting& at, const Token& key) {
  return std::any_of(at.queries.begin(), at.queries.end(), [&](const Token& query) {
    return at.sees(query, key);
  });
}

// The rows of one token.
Tensor rows_of_token(const Tensor& x, std::size_t token, const BlockSetting& at) {
  const std::int64_t batch = at.block.sizes.batch;
  return x.rows(static_cast<std::int64_t>(token) * batch, batch);
}

void poison(const Tensor& x) {
  std::fill(x.data<double>(), x.data<double>() + x.num_elements(), kNaN);
}

// Some keys are seen by no query, and all others by some only.
class WhatIsNotSeen : public AttentionBlockBackward {
 protected:
  const BlockSetting at_ = test::small_setting();
  const BlockProblem problem_ = block_problem(*this, at_);
  const Tensor dout_ = random(problem_.q.shape);

  std::vector<std::size_t> unseen_keys() const {
    std::vector<std::size_t> unseen;
    for (std::size_t u = 0; u < at_.blocks[0].size(); ++u) {
      if (!is_seen(at_, at_.blocks[0][u])) unseen.push_back(u);
    }
    return unseen;
  }
};

TEST_F(WhatIsNotSeen, MayBeNaNAndHasExactlyNoGradient) {
  const std::vector<std::size_t> unseen = unseen_keys();
  ASSERT_FALSE(unseen.empty());
  const AttentionState clean = merged(ops(), problem_);
  const BlockGradients clean_gradients = differentiated(*this, problem_, dout_);
  for (const std::size_t u : unseen) {
    poison(rows_of_token(problem_.blocks[0].kv.k, u, at_));
    poison(rows_of_token(problem_.blocks[0].kv.v, u, at_));
  }
  const AttentionState state = merged(ops(), problem_);
  EXPECT_EQ(values_of(state.out), values_of(clean.out));
  EXPECT_EQ(values_of(state.lse), values_of(clean.lse));
  const BlockGradients gradients = differentiated(*this, problem_, dout_);
  EXPECT_EQ(values_of(gradients.q), values_of(clean_gradients.q));
  EXPECT_EQ(values_of(gradients.blocks[0].k), values_of(clean_gradients.blocks[0].k));
  EXPECT_EQ(values_of(gradients.blocks[0].v), values_of(clean_gradients.blocks[0].v));
  for (const std::size_t u : unseen) {
    EXPECT_TRUE(is_zero(rows_of_token(gradients.blocks[0].k, u, at_))) << "key " << u;
    EXPECT_TRUE(is_zero(rows_of_token(gradients.blocks[0].v, u, at_))) << "key " << u;
  }
}

// A key that some see: NaN reaches those that see it and no other.
TEST_F(WhatIsNotSeen, ByAQueryBringsItNoNaN) {
  constexpr std::size_t kPoisoned = 9;
  const Token& key = at_.blocks[0][kPoisoned];
  poison(rows_of_token(problem_.blocks[0].kv.k, kPoisoned, at_));
  const AttentionState state = merged(ops(), problem_);
  const Qkv sums = first_block_added_to(problem_, dout_, test::zero_gradients(*this, problem_, 0));
  std::size_t num_seeing = 0;
  for (std::size_t s = 0; s < at_.queries.size(); ++s) {
    const bool sees = at_.sees(at_.queries[s], key);
    num_seeing += sees ? 1 : 0;
    for (const Tensor& x : {state.out, state.lse, sums.q}) {
      for (const double number : values_of(rows_of_token(x, s, at_))) {
        EXPECT_EQ(std::isnan(number), sees) << "query " << s;
      }
    }
  }
  EXPECT_GT(num_seeing, 0U);
  EXPECT_LT(num_seeing, at_.queries.size());
}

TEST_F(WhatIsNotSeen, LeavesEveryBitOfAQuerysGradient) {
  BlockSetting at = at_;
  at.blocks = {test::run_of(12, 4)};
  at.has_sink = true;  // beside a single key alone q has no gradient
  const BlockProblem problem = block_problem(*this, at);
  const Qkv zeros = test::zero_gradients(*this, problem, 0);
  const Qkv sums{.q = random(problem.q.shape), .k = zeros.k, .v = zeros.v};
  const std::vector<double> before = values_of(sums.q);
  // Even a gradient of NaN: it belongs to other keys.
  for (std::size_t s = 0; s < at.queries.size(); ++s) {
    if (!sees_any(at, at.queries[s], at.blocks[0])) poison(rows_of_token(dout_, s, at));
  }
  first_block_added_to(problem, dout_, sums);
  const auto row = static_cast<std::size_t>(problem.q.shape.last() * at.block.sizes.batch);
  std::size_t num_blind = 0;
  for (std::size_t s = 0; s < at.queries.size(); ++s) {
    const bool is_blind = !sees_any(at, at.queries[s], at.blocks[0]);
    num_blind += is_blind ? 1 : 0;
    for (std::size_t i = s * row; i < (s + 1) * row; ++i) {
      EXPECT_EQ(value_at(sums.q, static_cast<std::int64_t>(i)) == before[i], is_blind) << i;
    }
  }
  EXPECT_GT(num_blind, 0U);
  EXPECT_LT(num_blind, at.queries.size());
  for (const double number : values_of(sums.k)) EXPECT_FALSE(std::isnan(number));
  for (const double number : values_of(sums.v)) EXPECT_FALSE(std::isnan(number));
}

TEST_F(AttentionBlockBackward, DeltaIsTheInnerProductOfEachHeadsRow) {
  const AttentionSizes sizes{.batch = 2, .num_heads = 2, .num_kv_heads = 1, .head_dim = 3};
  const Tensor out = random({4, 6});
  const Tensor dout = random({4, 6});
  const Tensor delta = attention_delta(ops(), out, dout, sizes);
  EXPECT_EQ(delta.shape, Shape({4, 2}));
  for (std::int64_t i = 0; i < 8; ++i) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < 3; ++j)
      sum += value_at(out, 3 * i + j) * value_at(dout, 3 * i + j);
    EXPECT_EQ(value_at(delta, i), sum);
  }
}

TEST_F(AttentionBlockBackward, ShapesThatDoNotFitAreRefused) {
  const BlockProblem problem = block_problem(*this, test::compact_settings().back());
  const Tensor dout = random(problem.q.shape);
  const AttentionState state = merged(ops(), problem);
  const AttentionFinal final = test::final_of(ops(), problem, state, dout);
  const Qkv sums = test::zero_gradients(*this, problem, 0);
  const test::KeyBlock& block = problem.blocks[0];
  const auto differentiate = [&](const AttentionFinal& from, const Qkv& into) {
    attention_block_backward(ops(), from, block.kv, block.tokens, problem.at.block, into);
  };
  differentiate(final, sums);
  AttentionFinal wrong = final;
  wrong.dout = dout.rows(0, 3);
  EXPECT_THROW(differentiate(wrong, sums), InternalError);
  wrong = final;
  wrong.lse = dout;
  EXPECT_THROW(differentiate(wrong, sums), InternalError);
  wrong = final;
  wrong.delta = dout;
  EXPECT_THROW(differentiate(wrong, sums), InternalError);
  EXPECT_THROW(differentiate(final, {.q = final.lse, .k = sums.k, .v = sums.v}), InternalError);
  EXPECT_THROW(differentiate(final, {.q = sums.q, .k = final.lse, .v = sums.v}), InternalError);
  EXPECT_THROW(differentiate(final, {.q = sums.q, .k = sums.k, .v = final.lse}), InternalError);
  EXPECT_THROW(attention_delta(ops(), state.out, dout.rows(0, 3), problem.at.block.sizes),
               InternalError);
  EXPECT_THROW(attention_sink_backward(ops(), random({2}), final.lse, final.delta), InternalError);
  EXPECT_THROW(attention_sink_backward(ops(), problem.sink, final.lse, dout), InternalError);
}

}  // namespace
}  // namespace lockstep
