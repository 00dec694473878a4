// Embedding and cross entropy on shards: cut in pieces they give what one whole shard gives.
#include "core/ops/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::inner;
using test::numeric_gradient;
using test::relative_error;
using test::values_of;

constexpr LabelSmoothing kPlain{};

class Vocabulary : public testing::Test, protected test::OpFixture {
 protected:
  // Loss of each token with the whole vocabulary in one shard.
  Tensor whole_loss(const Tensor& logits, const Tensor& labels) const {
    const ShardLogits whole{.logits = logits,
                            .labels = labels,
                            .shard = {.first_row = 0, .num_real = logits.shape.last()}};
    return token_loss(ops(), logits_stats(ops(), whole, logits_max(ops(), whole)), kPlain);
  }
};

TEST_F(Vocabulary, EmbeddingLooksUpItsOwnRowsAndGivesZerosForOthers) {
  const Tensor ids = integers({3, 0, 5, 3});
  const Tensor weight = reals({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor out = embedding(ops(), ids, weight, {.first_row = 3, .num_real = 3});
  EXPECT_EQ(values_of(out), (std::vector<double>{1, 2, 0, 0, 5, 6, 1, 2}));
}

TEST_F(Vocabulary, EmbeddingsGradientIsItsAdjoint) {
  const Tensor ids = integers({3, 0, 5, 3, 4});
  const Tensor weight = random({3, 7});
  const Tensor dout = random({5, 7});
  const VocabularyShard shard{.first_row = 3, .num_real = 3};
  const EmbeddingSaved saved{.ids = ids, .weight_shape = weight.shape, .shard = shard};
  EXPECT_NEAR(inner(embedding(ops(), ids, weight, shard), dout),
              inner(weight, embedding_backward(ops(), saved, dout)),
              1e-14);
}

TEST_F(Vocabulary, AnIdThatNobodyWroteIsAnError) {
  const Tensor unwritten = allocate_tensor(ops().device, DType::kI64, {2}, "test");
  EXPECT_THROW(embedding(ops(), unwritten, random({3, 2}), {.first_row = 0, .num_real = 3}),
               InternalError);
}

TEST_F(Vocabulary, LossIsLogSumExpMinusTheLabelsLogit) {
  const Tensor logits = reals({1.0, 2.0, 4.0}, {1, 3});
  const double expected = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(4.0)) - 2.0;
  EXPECT_NEAR(values_of(whole_loss(logits, integers({1})))[0], expected, 1e-15);
}

TEST_F(Vocabulary, LargeLogitsDoNotOverflow) {
  const Tensor logits = reals({1000.0, 999.0}, {1, 2});
  EXPECT_NEAR(
      values_of(whole_loss(logits, integers({1})))[0], 1.0 + std::log1p(std::exp(-1.0)), 1e-12);
}

TEST_F(Vocabulary, PaddedColumnsWeighNothingHoweverLarge) {
  const Tensor logits = reals({1.0, 2.0, 4.0, 500.0, 600.0}, {1, 5});
  const ShardLogits padded{
      .logits = logits, .labels = integers({1}), .shard = {.first_row = 0, .num_real = 3}};
  const Tensor max_T = logits_max(ops(), padded);
  EXPECT_EQ(values_of(max_T), std::vector<double>{4.0});
  const Tensor stats = logits_stats(ops(), padded, max_T);
  EXPECT_EQ(values_of(token_loss(ops(), stats, kPlain)),
            values_of(whole_loss(reals({1.0, 2.0, 4.0}, {1, 3}), integers({1}))));
  const LogitsSaved saved{.logits = padded, .max_T = max_T, .stats_3T = stats};
  const std::vector<double> gradient =
      values_of(logits_backward(ops(), saved, kPlain, reals({1.0}, {1})));
  EXPECT_EQ(gradient[3], 0.0);
  EXPECT_EQ(gradient[4], 0.0);
}

// Over a vocabulary of 3 of which a shard of 5 columns has the rest as padding, label 1, weight
// 0.3: loss = logsumexp - 0.7 z[1] - 0.1 (z[0] + z[1] + z[2]).
TEST_F(Vocabulary, SmoothingWeighsTheLabelAndEveryRealColumn) {
  const LabelSmoothing smoothing{.weight = 0.3, .vocabulary = 3};
  const ShardLogits padded{.logits = reals({1.0, 2.0, 4.0, 500.0, -600.0}, {1, 5}),
                           .labels = integers({1}),
                           .shard = {.first_row = 0, .num_real = 3}};
  const Tensor max_T = logits_max(ops(), padded);
  const Tensor stats = logits_stats(ops(), padded, max_T);
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(4.0);
  EXPECT_NEAR(values_of(token_loss(ops(), stats, smoothing))[0],
              std::log(sum) - 0.7 * 2.0 - 0.1 * 7.0,
              1e-14);
  const LogitsSaved saved{.logits = padded, .max_T = max_T, .stats_3T = stats};
  const std::vector<double> gradient =
      values_of(logits_backward(ops(), saved, smoothing, reals({2.0}, {1})));
  EXPECT_NEAR(gradient[0], 2.0 * (std::exp(1.0) / sum - 0.1), 1e-14);
  EXPECT_NEAR(gradient[1], 2.0 * (std::exp(2.0) / sum - 0.8), 1e-14);
  EXPECT_NEAR(gradient[2], 2.0 * (std::exp(4.0) / sum - 0.1), 1e-14);
  EXPECT_EQ(gradient[3], 0.0);
  EXPECT_EQ(gradient[4], 0.0);
}

TEST_F(Vocabulary, NoSmoothingGivesTheBitsOfTheFormulaWithoutIt) {
  const ShardLogits whole{.logits = random({4, 6}),
                          .labels = integers({0, 1, 5, 3}),
                          .shard = {.first_row = 0, .num_real = 6}};
  const Tensor stats = logits_stats(ops(), whole, logits_max(ops(), whole));
  const std::vector<double> numbers = values_of(stats);
  const std::vector<double> losses = values_of(token_loss(ops(), stats, kPlain));
  for (std::size_t t = 0; t < 4; ++t) {
    EXPECT_EQ(losses[t], std::log(numbers[4 + t]) - numbers[t]);
  }
}

TEST_F(Vocabulary, StatsOfTheElementTypeAreRefusedWhereTheAccumulationTypeDiffers) {
  OpFixture low(DType::kBF16);
  const ShardLogits logits{.logits = low.random({1, 2}),
                           .labels = low.integers({0}),
                           .shard = {.first_row = 0, .num_real = 2}};
  EXPECT_EQ(logits_max(low.ops(), logits).dtype, DType::kF32);
  EXPECT_THROW(logits_stats(low.ops(), logits, low.random({1})), InternalError);
}

TEST_F(Vocabulary, AShardOfNothingButPaddingHasMaximumMinusInfinity) {
  const ShardLogits padding{.logits = random({2, 4}),
                            .labels = integers({0, 1}),
                            .shard = {.first_row = 90, .num_real = 0}};
  for (const double largest : values_of(logits_max(ops(), padding))) {
    EXPECT_EQ(largest, -std::numeric_limits<double>::infinity());
  }
}

TEST_F(Vocabulary, ANaNLogitIsNotDroppedByTheMaximum) {
  const Tensor logits = reals({1.0, std::nan(""), 4.0}, {1, 3});
  const ShardLogits shard{
      .logits = logits, .labels = integers({0}), .shard = {.first_row = 0, .num_real = 3}};
  EXPECT_TRUE(std::isnan(values_of(logits_max(ops(), shard))[0]));
}

TEST_F(Vocabulary, ShardsTogetherGiveTheWholeVocabularysLossAndGradient) {
  const Tensor logits = random({6, 12});
  const Tensor labels = integers({0, 5, 11, 3, 7, 8});
  const Tensor dloss = random({6});
  const Tensor whole = whole_loss(logits, labels);
  std::vector<ShardLogits> shards;
  for (std::int64_t r = 0; r < 3; ++r) {
    shards.push_back({.logits = columns(ops(), logits, r * 4, 4),
                      .labels = labels,
                      .shard = {.first_row = r * 4, .num_real = 4}});
  }
  Tensor max_T = logits_max(ops(), shards[0]);
  for (const ShardLogits& shard : shards) {
    for (int t = 0; t < 6; ++t) {
      double& largest = max_T.data<double>()[t];
      largest = std::max(largest, values_of(logits_max(ops(), shard))[static_cast<std::size_t>(t)]);
    }
  }
  Tensor stats = logits_stats(ops(), shards[0], max_T);
  for (std::size_t r = 1; r < 3; ++r)
    stats = add(ops(), stats, logits_stats(ops(), shards[r], max_T));
  EXPECT_LT(relative_error(values_of(token_loss(ops(), stats, kPlain)), values_of(whole)), 1e-14);

  const std::vector<double> numeric =
      numeric_gradient(logits, dloss, [&] { return whole_loss(logits, labels); });
  for (std::size_t r = 0; r < 3; ++r) {
    const Tensor gradient = logits_backward(
        ops(), {.logits = shards[r], .max_T = max_T, .stats_3T = stats}, kPlain, dloss);
    const Tensor expected =
        columns(ops(), reals(numeric, {6, 12}), static_cast<std::int64_t>(r) * 4, 4);
    EXPECT_LT(relative_error(values_of(gradient), values_of(expected)), 1e-8);
  }
}

}  // namespace
}  // namespace lockstep
