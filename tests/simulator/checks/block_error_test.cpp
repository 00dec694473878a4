// How near is equal: blocks, floors, zeroes and NaN.
#include "simulator/checks/block_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep::test {
namespace {

using sim::BlockError;
using sim::BlockMeasure;
using sim::OracleTensor;

OracleTensor tensor_of(std::vector<double> values) {
  return {.name = "t", .shape = {static_cast<std::int64_t>(values.size())}, .values = values};
}

// Two full blocks of ones and of tiny values, and one of a single element.
OracleTensor uneven_tensor() {
  std::vector<double> values(65, 1.0);
  for (std::size_t i = 32; i < 64; ++i) values[i] = 1e-9;
  return tensor_of(values);
}

TEST(BlockError, IsTheDifferenceOverTheNormOfItsBlock) {
  std::vector<double> deviations(65, 0.0);
  deviations[3] = 3e-5;
  deviations[31] = 4e-5;
  const BlockError worst = BlockMeasure(uneven_tensor(), 0.0).worst(deviations);
  EXPECT_EQ(worst.block, 0);
  EXPECT_NEAR(worst.error, 5e-5 / std::sqrt(32.0), 1e-18);
}

TEST(BlockError, UsesOnlyTheElementsThatTheLastBlockHas) {
  std::vector<double> deviations(65, 0.0);
  deviations[64] = 1e-3;
  const BlockError worst = BlockMeasure(uneven_tensor(), 0.0).worst(deviations);
  EXPECT_EQ(worst.block, 2);
  EXPECT_NEAR(worst.error, 1e-3, 1e-18);
}

TEST(BlockError, HoldsABlockOfTinyValuesAgainstAThousandthOfItsTensor) {
  std::vector<double> deviations(65, 0.0);
  deviations[40] = 1e-9;
  const BlockError worst = BlockMeasure(uneven_tensor(), 0.0).worst(deviations);
  EXPECT_EQ(worst.block, 1);
  EXPECT_NEAR(worst.error, 1e-9 / (1e-3 * std::sqrt(33.0)), 1e-15);
}

TEST(BlockError, HoldsATensorOfZeroesAgainstAMillionthOfAllTensors) {
  const BlockMeasure measure(tensor_of({0.0, 0.0}), 2.0);
  EXPECT_NEAR(measure.worst(std::vector<double>{2e-9, 0.0}).error, 1e-3, 1e-12);
}

TEST(BlockError, IsZeroWithoutDifferenceEvenWhereAllIsZero) {
  const BlockMeasure measure(tensor_of({0.0, 0.0}), 0.0);
  EXPECT_EQ(measure.worst(std::vector<double>{0.0, 0.0}).error, 0.0);
}

TEST(BlockError, IsInfiniteForAnyDifferenceWhereAllIsZero) {
  const BlockMeasure measure(tensor_of({0.0, 0.0}), 0.0);
  EXPECT_TRUE(std::isinf(measure.worst(std::vector<double>{0.0, 1e-200}).error));
}

TEST(BlockError, IsNaNForANaNThatLargerErrorsFollow) {
  std::vector<double> deviations(65, 0.0);
  deviations[0] = std::numeric_limits<double>::quiet_NaN();
  deviations[64] = 1e9;
  const BlockError worst = BlockMeasure(uneven_tensor(), 0.0).worst(deviations);
  EXPECT_TRUE(std::isnan(worst.error));
  EXPECT_EQ(worst.block, 0);
}

TEST(BoundOf, IsFixedForFloat64Only) {
  EXPECT_EQ(sim::bound_of(Precision::kF64), 1e-10);
  EXPECT_EQ(sim::bound_of(Precision::kF32), std::nullopt);
  EXPECT_EQ(sim::bound_of(Precision::kBF16), std::nullopt);
}

}  // namespace
}  // namespace lockstep::test
