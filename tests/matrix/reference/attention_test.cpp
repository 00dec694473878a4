// Heads, rope and causal attention against their definitions, element by element.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "matrix/reference/core_attention.h"
#include "matrix/reference/rotary.h"

namespace lockstep::test {
namespace {

using matrix::CoreAttention;
using matrix::Heads;
using matrix::HeadSizes;
using matrix::Matrix;

Matrix random_matrix(std::int64_t rows, std::int64_t columns) {
  Matrix result(rows, columns);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = 2.0 * random_signed(1, stream_of("attention"), i);
  }
  return result;
}

constexpr HeadSizes kSizes{.seq = 6, .query_heads = 6, .groups = 2, .head_dim = 4};
constexpr std::int64_t kSamples = 2;
constexpr std::int64_t kColumns = (6 + 2 * 2) * 4;

std::vector<std::int64_t> whole_samples(std::int64_t num_samples, std::int64_t seq) {
  std::vector<std::int64_t> places_T;
  for (std::int64_t t = 0; t < num_samples * seq; ++t) places_T.push_back(t % seq);
  return places_T;
}

CoreAttention attention_of(const Matrix& qkv) {
  const std::vector<std::int64_t> places_T = whole_samples(kSamples, kSizes.seq);
  return core_attention(split_heads(qkv, kSizes),
                        {.sizes = kSizes,
                         .sliding_window = 0,
                         .sink_Q = {},
                         .places_T = places_T,
                         .first_token = 0,
                         .dropout = {{}, "none"}});
}

// linear_qkv's element: head `head` of the group's [q q q | k | v], of one token.
double at(const Matrix& qkv, std::int64_t token, std::int64_t group, std::int64_t head, int i) {
  return qkv.row(token)[(group * 5 + head) * 4 + i];
}

TEST(ReferenceHeads, LieGroupByGroupInTheColumnsOfLinearQkv) {
  const Matrix qkv = random_matrix(kSamples * 6, kColumns);
  const Heads heads = split_heads(qkv, kSizes);
  for (std::int64_t b = 0; b < kSamples; ++b) {
    for (std::int64_t s = 0; s < 6; ++s) {
      for (int i = 0; i < 4; ++i) {
        for (std::int64_t h = 0; h < 6; ++h) {
          EXPECT_EQ(heads.q.row((b * 6 + h) * 6 + s)[i], at(qkv, b * 6 + s, h / 3, h % 3, i));
        }
        for (std::int64_t g = 0; g < 2; ++g) {
          EXPECT_EQ(heads.k.row((b * 2 + g) * 6 + s)[i], at(qkv, b * 6 + s, g, 3, i));
          EXPECT_EQ(heads.v.row((b * 2 + g) * 6 + s)[i], at(qkv, b * 6 + s, g, 4, i));
        }
      }
    }
  }
  EXPECT_EQ(merge_heads(heads, kSizes).values, qkv.values);
}

TEST(ReferenceHeads, RefuseColumnsAndGroupsThatDoNotFit) {
  EXPECT_THROW(split_heads(Matrix(6, kColumns - 1), kSizes), InternalError);
  const HeadSizes uneven{.seq = 6, .query_heads = 5, .groups = 2, .head_dim = 4};
  EXPECT_THROW(split_heads(Matrix(6, (5 + 2 * 2) * 4), uneven), InternalError);
}

TEST(ReferenceAttention, IsTheSoftmaxOverPositionsUpToTheQuerys) {
  const Matrix qkv = random_matrix(kSamples * 6, kColumns);
  const CoreAttention attention = attention_of(qkv);
  ASSERT_EQ(attention.out.columns, 24);
  for (std::int64_t b = 0; b < kSamples; ++b) {
    for (std::int64_t h = 0; h < 6; ++h) {
      for (std::int64_t s = 0; s < 6; ++s) {
        double sum = 0.0;
        std::vector<double> out(4);
        for (std::int64_t u = 0; u <= s; ++u) {
          double dot = 0.0;
          for (int i = 0; i < 4; ++i) {
            dot += at(qkv, b * 6 + s, h / 3, h % 3, i) * at(qkv, b * 6 + u, h / 3, 3, i);
          }
          const double weight = std::exp(dot / 2.0);
          sum += weight;
          for (int i = 0; i < 4; ++i) {
            out[static_cast<std::size_t>(i)] += weight * at(qkv, b * 6 + u, h / 3, 4, i);
          }
        }
        for (int i = 0; i < 4; ++i) {
          EXPECT_NEAR(attention.out.row(b * 6 + s)[h * 4 + i],
                      out[static_cast<std::size_t>(i)] / sum,
                      1e-14);
        }
      }
    }
  }
}

TEST(ReferenceAttention, StaysFiniteForScoresWhoseExponentialOverflows) {
  Matrix qkv = random_matrix(kSamples * 6, kColumns);
  for (double& value : qkv.values) value *= 1e3;
  for (const double value : attention_of(qkv).out.values) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(ReferenceRotary, TurnsEachPairOfHalvesByItsOwnAngle) {
  // theta 100, head_dim 4: pair 0 turns by s, pair 1 by s / 10.
  const matrix::Rotary rotary(100.0, 3, 4);
  Matrix heads(6, 4);
  for (std::int64_t row = 0; row < 6; ++row) {
    for (int i = 0; i < 4; ++i) heads.row(row)[i] = static_cast<double>(i + 1);
  }
  const Matrix before = heads;
  const std::vector<std::int64_t> places_T = whole_samples(2, 3);
  rotary.turn(heads, places_T);
  for (std::int64_t row = 0; row < 6; ++row) {
    const auto s = static_cast<double>(row % 3);
    const double* x = heads.row(row);
    EXPECT_NEAR(x[0], std::cos(s) - 3.0 * std::sin(s), 1e-15);
    EXPECT_NEAR(x[1], 2.0 * std::cos(s / 10.0) - 4.0 * std::sin(s / 10.0), 1e-15);
    EXPECT_NEAR(x[2], 3.0 * std::cos(s) + std::sin(s), 1e-15);
    EXPECT_NEAR(x[3], 4.0 * std::cos(s / 10.0) + 2.0 * std::sin(s / 10.0), 1e-15);
  }
  rotary.turn_back(heads, places_T);
  for (std::size_t i = 0; i < heads.values.size(); ++i) {
    EXPECT_NEAR(heads.values[i], before.values[i], 1e-15);
  }
}

TEST(ReferenceRotary, RefusesAHeadWithoutHalves) {
  EXPECT_THROW(matrix::Rotary(10000.0, 4, 3), UsageError);
}

}  // namespace
}  // namespace lockstep::test
