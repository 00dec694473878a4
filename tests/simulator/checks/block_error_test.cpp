// How near is equal: blocks, floors, zeroes and NaN.
#include "simulator/checks/block_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/errors.h"

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

TEST(BlockError, HoldsABlockOfF64AgainstOneBound) {
  std::vector<double> deviations(65, 0.0);
  deviations[0] = 0.9e-10;
  deviations[64] = 0.9e-10;
  const BlockMeasure measure(uneven_tensor(), 0.0);
  EXPECT_EQ(measure.worst(deviations).bound, 1e-10);
  EXPECT_TRUE(measure.worst(deviations).holds());
  deviations[64] = 1.1e-10;
  EXPECT_FALSE(measure.worst(deviations).holds());
}

// How far a single-device run is off, by these errors in the blocks of a tensor of ones.
OracleTensor single_device(double first, double second, double third) {
  OracleTensor tensor = tensor_of(std::vector<double>(96, 0.0));
  tensor.values[0] = first * std::sqrt(32.0);
  tensor.values[32] = -second * std::sqrt(32.0);
  tensor.values[64] = third * std::sqrt(32.0);
  return tensor;
}

BlockError worst_against(const OracleTensor& single, std::size_t element, double error) {
  std::vector<double> deviations(96, 0.0);
  deviations[element] = error * std::sqrt(32.0);
  return BlockMeasure(tensor_of(std::vector<double>(96, 1.0)), 0.0, single).worst(deviations);
}

TEST(SingleDeviceRule, AllowsEightTimesTheErrorOfTheSameBlock) {
  const OracleTensor single = single_device(1e-3, 1e-4, 1e-4);
  EXPECT_TRUE(worst_against(single, 0, 7.9e-3).holds());
  EXPECT_FALSE(worst_against(single, 0, 8.1e-3).holds());
  EXPECT_NEAR(worst_against(single, 0, 7.9e-3).bound, 8e-3, 1e-12);
}

TEST(SingleDeviceRule, AllowsEightTimesTheRmsErrorOfTheTensorWhereItsBlockIsNearer) {
  const OracleTensor single = single_device(3e-4, 0.0, 0.0);
  const double rms = 3e-4 / std::sqrt(3.0);
  EXPECT_TRUE(worst_against(single, 64, 7.9 * rms).holds());
  EXPECT_FALSE(worst_against(single, 64, 8.1 * rms).holds());
}

TEST(SingleDeviceRule, AllowsABlockOfTinyValuesToBeOffAsFarAsOthers) {
  // The second block is a thousandth of the others.
  std::vector<double> values(96, 1.0);
  for (std::size_t i = 32; i < 64; ++i) values[i] = 1e-3;
  const OracleTensor reference = tensor_of(values);
  for (std::size_t i = 0; i < 96; ++i) values[i] = i < 32 || i >= 64 ? 1e-6 : 0.0;
  const BlockMeasure measure(reference, 0.0, tensor_of(values));
  const double rms = 1e-6 * std::sqrt(2.0 / 3.0);
  std::vector<double> deviations(96, 0.0);
  for (std::size_t i = 32; i < 64; ++i) deviations[i] = 7.9 * rms;
  EXPECT_TRUE(measure.worst(deviations).holds());
  for (std::size_t i = 32; i < 64; ++i) deviations[i] = 8.1 * rms;
  EXPECT_FALSE(measure.worst(deviations).holds());
}

TEST(SingleDeviceRule, PicksTheBlockThatIsMostBeyondItsOwnBound) {
  const OracleTensor single = single_device(1e-2, 0.0, 0.0);
  std::vector<double> deviations(96, 0.0);
  deviations[0] = 7e-2 * std::sqrt(32.0);   // the larger error, within its bound of 8e-2
  deviations[64] = 5e-2 * std::sqrt(32.0);  // of 8e-2 / sqrt(3)
  const BlockError worst =
      BlockMeasure(tensor_of(std::vector<double>(96, 1.0)), 0.0, single).worst(deviations);
  EXPECT_EQ(worst.block, 2);
  EXPECT_FALSE(worst.holds());
}

TEST(SingleDeviceRule, AllowsNoErrorWhereTheSingleDeviceHasNone) {
  const OracleTensor single = single_device(0.0, 0.0, 0.0);
  EXPECT_TRUE(worst_against(single, 0, 0.0).holds());
  EXPECT_FALSE(worst_against(single, 0, 1e-15).holds());
}

TEST(SingleDeviceRule, TellsNothingApartThatIsBelowTheSmallestF32) {
  const OracleTensor single = single_device(0.0, 0.0, 0.0);
  EXPECT_TRUE(worst_against(single, 0, 1e-291).holds());
  EXPECT_FALSE(worst_against(single, 0, 1e-36).holds());
}

TEST(SingleDeviceRule, AllowsNothingButZeroWhereAllOfTheReferenceIsZero) {
  const OracleTensor zero = tensor_of({0.0, 0.0});
  const BlockMeasure measure(zero, 0.0, zero);
  EXPECT_TRUE(measure.worst(std::vector<double>{0.0, 0.0}).holds());
  EXPECT_FALSE(measure.worst(std::vector<double>{0.0, 1e-3}).holds());
}

TEST(SingleDeviceRule, RefusesAnotherTensor) {
  OracleTensor other = single_device(0.0, 0.0, 0.0);
  other.name = "u";
  EXPECT_THROW(BlockMeasure(tensor_of(std::vector<double>(96, 1.0)), 0.0, other), InternalError);
}

}  // namespace
}  // namespace lockstep::test
