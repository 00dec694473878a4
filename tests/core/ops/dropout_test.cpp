// Dropout: which elements it drops, by how much it scales the others, and that parts of a tensor
// are dropped as the whole is.
#include "core/ops/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/config/data.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::OpFixture;
using test::value_at;
using test::values_of;

constexpr std::int64_t kTokens = 9;
constexpr std::int64_t kWidth = 13;

class DropoutOp : public testing::Test, protected OpFixture {
 protected:
  Tensor row_indices(std::int64_t first, std::int64_t count) const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    return integers(rows);
  }
  Tensor ones(std::int64_t rows, std::int64_t columns) const {
    return reals(std::vector<double>(static_cast<std::size_t>(rows * columns), 1.0),
                 {rows, columns});
  }
};

Dropout with_probability(double probability) {
  return {.probability = probability, .seed = 17, .stream = dropout_stream("test")};
}

TEST_F(DropoutOp, DropsByTheSeedTheSiteAndTheIndexInTheWholeTensor) {
  const Tensor x = random({kTokens, kWidth});
  // Tokens of a run that is under way, beyond what 32 bits count.
  constexpr std::int64_t kFirst = (std::int64_t{1} << 33) - 4;
  const Tensor y = dropout(
      ops(), x, {.rows = row_indices(kFirst, kTokens), .width = kWidth}, with_probability(0.5));
  for (std::int64_t i = 0; i < kTokens * kWidth; ++i) {
    const auto index = static_cast<std::uint64_t>((kFirst + i / kWidth) * kWidth + i % kWidth);
    const bool is_kept = random_unit(17, stream_of("dropout.test"), index) >= 0.5;
    EXPECT_EQ(value_at(y, i), is_kept ? 2.0 * value_at(x, i) : 0.0) << i;
  }
}

TEST_F(DropoutOp, KeepsItsShareAndScalesItToTheMeanBefore) {
  constexpr std::int64_t kRows = 1000;
  constexpr std::int64_t kColumns = 100;
  constexpr double kCount = 1.0 * kRows * kColumns;
  for (const double probability : {0.1, 0.5, 0.8}) {
    const Tensor y = dropout(ops(),
                             ones(kRows, kColumns),
                             {.rows = row_indices(0, kRows), .width = kColumns},
                             with_probability(probability));
    double num_kept = 0.0;
    for (const double number : values_of(y)) {
      if (number == 0.0) continue;
      EXPECT_DOUBLE_EQ(number, 1.0 / (1.0 - probability));
      num_kept += 1.0;
    }
    const double deviation = std::sqrt(kCount * probability * (1.0 - probability));
    EXPECT_NEAR(num_kept, kCount * (1.0 - probability), 4.0 * deviation);
  }
}

TEST_F(DropoutOp, OfRowsAndColumnsInAnyOrderIsThatOfTheWhole) {
  const Tensor x = random({kTokens, kWidth});
  const Dropout half = with_probability(0.5);
  const Tensor whole = dropout(ops(), x, {.rows = row_indices(20, kTokens), .width = kWidth}, half);
  const std::vector<std::int64_t> tokens{7, 0, 1, 4};
  std::vector<double> numbers;
  std::vector<double> expected;
  std::vector<std::int64_t> rows;
  for (const std::int64_t token : tokens) {
    rows.push_back(20 + token);
    for (std::int64_t j = 3; j < 8; ++j) {
      numbers.push_back(value_at(x, token * kWidth + j));
      expected.push_back(value_at(whole, token * kWidth + j));
    }
  }
  const Tensor part = dropout(ops(),
                              reals(numbers, {4, 5}),
                              {.rows = integers(rows), .width = kWidth, .first_column = 3},
                              half);
  EXPECT_EQ(values_of(part), expected);
}

TEST_F(DropoutOp, OfAnotherSeedOrSiteDropsOthers) {
  const DropoutPlace place{.rows = row_indices(0, kTokens), .width = kWidth};
  const auto dropped = [&](std::uint64_t seed, std::string_view site) {
    return values_of(dropout(ops(),
                             ones(kTokens, kWidth),
                             place,
                             {.probability = 0.5, .seed = seed, .stream = dropout_stream(site)}));
  };
  EXPECT_EQ(dropped(1, "a"), dropped(1, "a"));
  EXPECT_NE(dropped(1, "a"), dropped(2, "a"));
  EXPECT_NE(dropped(1, "a"), dropped(1, "b"));
}

TEST_F(DropoutOp, LeavesPaddingAndItsArgumentAsTheyAre) {
  const Tensor x = random({3, kWidth});
  const std::vector<double> before = values_of(x);
  const Tensor y =
      dropout(ops(), x, {.rows = integers({-1, 4, -1}), .width = kWidth}, with_probability(0.9));
  EXPECT_EQ(values_of(x), before);
  EXPECT_EQ(values_of(y.rows(0, 1)), values_of(x.rows(0, 1)));
  EXPECT_NE(values_of(y.rows(1, 1)), values_of(x.rows(1, 1)));
  EXPECT_EQ(values_of(y.rows(2, 1)), values_of(x.rows(2, 1)));
}

TEST_F(DropoutOp, WithProbabilityZeroChangesNothing) {
  const Tensor x = random({kTokens, kWidth});
  const Tensor y =
      dropout(ops(), x, {.rows = row_indices(0, kTokens), .width = kWidth}, with_probability(0.0));
  EXPECT_EQ(values_of(y), values_of(x));
}

TEST_F(DropoutOp, RowsAndColumnsThatDoNotFitAreRefused) {
  const Tensor x = random({4, 6});
  const Dropout half = with_probability(0.5);
  EXPECT_THROW(dropout(ops(), x, {.rows = row_indices(0, 5), .width = 6}, half), InternalError);
  EXPECT_THROW(dropout(ops(), x, {.rows = random({4}), .width = 6}, half), InternalError);
  EXPECT_THROW(dropout(ops(), x, {.rows = row_indices(0, 4), .width = 5}, half), InternalError);
  EXPECT_THROW(dropout(ops(), x, {.rows = row_indices(0, 4), .width = 9, .first_column = 4}, half),
               InternalError);
}

}  // namespace
}  // namespace lockstep
