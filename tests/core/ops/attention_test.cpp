// Attention: its formula, what a token can see, which kv head a query reads, how samples
// interleave.
#include "core/ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::OpFixture;
using test::relative_error;
using test::values_of;

// Neither the head nor the sequence is a whole number of the kernel's blocks.
constexpr AttentionSizes kSizes{
    .batch = 2, .num_heads = 6, .num_kv_heads = 2, .head_dim = 5, .scale = 0.4};
constexpr std::int64_t kSeq = 11;
constexpr std::int64_t kRows = kSeq * kSizes.batch;
constexpr std::int64_t kQWidth = kSizes.num_heads * kSizes.head_dim;
constexpr std::int64_t kKvWidth = kSizes.num_kv_heads * kSizes.head_dim;

class Attention : public testing::Test, protected OpFixture {
 protected:
  Qkv random_inputs() {
    const Tensor q = random({kRows, kQWidth});
    const Tensor k = random({kRows, kKvWidth});
    const Tensor v = random({kRows, kKvWidth});
    return {.q = q, .k = k, .v = v};
  }
};

// Where token s of a sample's head begins.
std::int64_t start_of(std::int64_t s, std::int64_t sample, std::int64_t head, std::int64_t width) {
  return (s * kSizes.batch + sample) * width + head * kSizes.head_dim;
}

// The formula, term by term.
std::vector<double> plain_attention(const Qkv& inputs) {
  const double* const q = inputs.q.data<double>();
  const double* const k = inputs.k.data<double>();
  const double* const v = inputs.v.data<double>();
  std::vector<double> out(static_cast<std::size_t>(kRows * kQWidth));
  for (std::int64_t index = 0; index < kSizes.batch * kSizes.num_heads * kSeq; ++index) {
    const std::int64_t s = index % kSeq;
    const std::int64_t head = index / kSeq % kSizes.num_heads;
    const std::int64_t sample = index / kSeq / kSizes.num_heads;
    const std::int64_t at = start_of(s, sample, head, kQWidth);
    double sum = 0.0;
    std::vector<double> weights;
    for (std::int64_t u = 0; u <= s; ++u) {
      const std::int64_t there = start_of(u, sample, head / 3, kKvWidth);
      double score = 0.0;
      for (std::int64_t i = 0; i < kSizes.head_dim; ++i) score += q[at + i] * k[there + i];
      weights.push_back(std::exp(kSizes.scale * score));
      sum += weights.back();
    }
    for (std::int64_t u = 0; u <= s; ++u) {
      const double p = weights[static_cast<std::size_t>(u)] / sum;
      const std::int64_t there = start_of(u, sample, head / 3, kKvWidth);
      for (std::int64_t i = 0; i < kSizes.head_dim; ++i) {
        out[static_cast<std::size_t>(at + i)] += p * v[there + i];
      }
    }
  }
  return out;
}

TEST_F(Attention, EqualsItsFormula) {
  const Qkv inputs = random_inputs();
  EXPECT_LT(
      relative_error(values_of(attention(ops(), inputs, kSizes).out), plain_attention(inputs)),
      1e-14);
}

TEST_F(Attention, ProbabilitiesOfATokenSumToOneAndAreZeroAboveTheDiagonal) {
  const Tensor p = attention(ops(), random_inputs(), kSizes).probabilities;
  EXPECT_EQ(p.shape, Shape({2, 6, kSeq, kSeq}));
  for (std::int64_t row = 0; row < 12 * kSeq; ++row) {
    double sum = 0.0;
    for (std::int64_t u = 0; u < kSeq; ++u) {
      const double value = p.data<double>()[row * kSeq + u];
      sum += value;
      if (u > row % kSeq) {
        EXPECT_EQ(value, 0.0);
      }
    }
    EXPECT_NEAR(sum, 1.0, 1e-14);
  }
}

TEST_F(Attention, ChangingATokenChangesNoEarlierOutput) {
  const Qkv inputs = random_inputs();
  const std::vector<double> before = values_of(attention(ops(), inputs, kSizes).out);
  constexpr std::int64_t kChanged = 6;
  for (const Tensor& tensor : {inputs.q, inputs.k, inputs.v}) {
    const std::int64_t width = tensor.shape.last();
    for (std::int64_t i = 0; i < kSizes.batch * width; ++i) {
      tensor.data<double>()[kChanged * kSizes.batch * width + i] += 1.0;
    }
  }
  const std::vector<double> after = values_of(attention(ops(), inputs, kSizes).out);
  const auto border = static_cast<std::size_t>(kChanged * kSizes.batch * kQWidth);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i] == after[i], i < border) << "element " << i;
  }
}

TEST_F(Attention, NaNReachesItsOwnAndLaterTokensOnly) {
  const Qkv inputs = random_inputs();
  constexpr std::int64_t kPoisoned = 4;
  inputs.k.data<double>()[kPoisoned * kSizes.batch * kKvWidth] = std::nan("");
  const Tensor out = attention(ops(), inputs, kSizes).out;
  for (std::int64_t s = 0; s < kSeq; ++s) {
    const double value = out.data<double>()[start_of(s, 0, 0, kQWidth)];
    EXPECT_EQ(std::isnan(value), s >= kPoisoned) << "token " << s;
  }
}

TEST_F(Attention, NaNInALaterTokensGradientReachesTheEarlierKeysAndValues) {
  const Qkv inputs = random_inputs();
  const Tensor p = attention(ops(), inputs, kSizes).probabilities;
  const Tensor dout = random({kRows, kQWidth});
  constexpr std::int64_t kPoisoned = 4;
  dout.data<double>()[start_of(kPoisoned, 0, 0, kQWidth)] = std::nan("");
  const Qkv gradients =
      attention_backward(ops(), {.inputs = inputs, .probabilities = p}, kSizes, dout);
  for (std::int64_t s = 0; s < kSeq; ++s) {
    EXPECT_EQ(std::isnan(gradients.q.data<double>()[start_of(s, 0, 0, kQWidth)]), s == kPoisoned);
    EXPECT_EQ(std::isnan(gradients.k.data<double>()[start_of(s, 0, 0, kKvWidth)]), s <= kPoisoned);
    EXPECT_EQ(std::isnan(gradients.v.data<double>()[start_of(s, 0, 0, kKvWidth)]), s <= kPoisoned);
  }
}

TEST_F(Attention, AQueryHeadReadsTheKvHeadOfItsGroup) {
  const Qkv inputs = random_inputs();
  const std::vector<double> before = values_of(attention(ops(), inputs, kSizes).out);
  for (std::int64_t row = 0; row < kRows; ++row) {
    inputs.v.data<double>()[row * kKvWidth + kSizes.head_dim] += 1.0;  // kv head 1
  }
  const std::vector<double> after = values_of(attention(ops(), inputs, kSizes).out);
  for (std::int64_t head = 0; head < kSizes.num_heads; ++head) {
    const auto at = static_cast<std::size_t>(head * kSizes.head_dim);
    EXPECT_EQ(before[at] == after[at], head < 3) << "query head " << head;
  }
}

TEST_F(Attention, SamplesInterleaveAndGiveTheBitsOfEachAlone) {
  const Qkv inputs = random_inputs();
  const Tensor together = attention(ops(), inputs, kSizes).out;
  AttentionSizes one = kSizes;
  one.batch = 1;
  for (std::int64_t sample = 0; sample < kSizes.batch; ++sample) {
    const auto alone = [&](const Tensor& tensor) {
      const std::int64_t width = tensor.shape.last();
      std::vector<double> rows;
      for (std::int64_t i = 0; i < kSeq * width; ++i) {
        const std::int64_t row = i / width * kSizes.batch + sample;
        rows.push_back(tensor.data<double>()[row * width + i % width]);
      }
      return reals(rows, {kSeq, width});
    };
    const Qkv own{.q = alone(inputs.q), .k = alone(inputs.k), .v = alone(inputs.v)};
    EXPECT_EQ(values_of(attention(ops(), own, one).out), values_of(alone(together)));
  }
}

TEST_F(Attention, LargeScoresDoNotOverflow) {
  const Tensor q = reals({1e3, 1e3}, {2, 1});
  const Tensor v = reals({1.0, 2.0}, {2, 1});
  const AttentionSizes sizes{.num_heads = 1, .num_kv_heads = 1, .head_dim = 1};
  const Tensor out = attention(ops(), {.q = q, .k = q, .v = v}, sizes).out;
  EXPECT_EQ(values_of(out), (std::vector<double>{1.0, 1.5}));
}

TEST_F(Attention, ShapesThatDoNotFitAreRefused) {
  const Qkv inputs = random_inputs();
  AttentionSizes uneven = kSizes;
  uneven.num_kv_heads = 4;
  EXPECT_THROW(attention(ops(), inputs, uneven), InternalError);
  EXPECT_THROW(attention(ops(), {.q = inputs.q, .k = inputs.k, .v = random({3, 10})}, kSizes),
               InternalError);
  EXPECT_THROW(attention(ops(), {.q = random({3, 7}), .k = inputs.k, .v = inputs.v}, kSizes),
               InternalError);
  const Tensor p = attention(ops(), inputs, kSizes).probabilities;
  EXPECT_THROW(attention_backward(
                   ops(), {.inputs = inputs, .probabilities = p}, kSizes, random({2, kQWidth})),
               InternalError);
  EXPECT_THROW(attention_backward(ops(),
                                  {.inputs = inputs, .probabilities = random({2, 6, 11})},
                                  kSizes,
                                  random({kRows, kQWidth})),
               InternalError);
}

}  // namespace
}  // namespace lockstep
