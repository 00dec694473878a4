// The distribution of error / bound: its quantiles, its ends, and what is not counted.
#include "matrix/sweep/headroom.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

using matrix::Headroom;

// A bin is a twentieth of a decade wide.
const double kResolution = std::pow(10.0, 1.0 / 20.0);

Headroom headroom_of(const std::vector<double>& ratios) {
  Headroom headroom;
  for (const double ratio : ratios) headroom.add(ratio * 1e-10, 1e-10);
  return headroom;
}

void expect_within_a_bin(double quantile, double ratio) {
  EXPECT_GE(quantile, ratio * (1.0 - 1e-9));
  EXPECT_LE(quantile, ratio * kResolution);
}

TEST(Headroom, TellsEachShareOfCasesWithinTheWidthOfABin) {
  std::vector<double> ratios;
  for (int i = 1; i <= 1000; ++i) ratios.push_back(1e-3 * i);
  const Headroom headroom = headroom_of(ratios);
  expect_within_a_bin(headroom.quantile(0.5), 0.5);
  expect_within_a_bin(headroom.quantile(0.9), 0.9);
  expect_within_a_bin(headroom.quantile(0.99), 0.99);
  EXPECT_DOUBLE_EQ(headroom.largest(), 1.0);
  EXPECT_EQ(headroom.quantile(1.0), headroom.largest());
}

TEST(Headroom, NeverTellsMoreThanTheLargest) {
  const Headroom headroom = headroom_of({0.3});
  EXPECT_EQ(headroom.quantile(0.5), headroom.largest());
  EXPECT_DOUBLE_EQ(headroom.largest(), 0.3);
}

TEST(Headroom, HoldsEveryRatioHoweverSmallOrLarge) {
  const Headroom headroom = headroom_of({1e-300, 1e-30, 1e30});
  EXPECT_LE(headroom.quantile(0.6), 1e-15);
  EXPECT_DOUBLE_EQ(headroom.quantile(1.0), 1e30);
}

TEST(Headroom, CountsACaseWithoutErrorAsZeroOfAnyBound) {
  Headroom headroom = headroom_of({0.5});
  for (int i = 0; i < 9; ++i) headroom.add(0.0, 0.0);
  EXPECT_FALSE(headroom.is_exact());
  EXPECT_EQ(headroom.quantile(0.9), 0.0);
  EXPECT_DOUBLE_EQ(headroom.quantile(0.99), 0.5);
}

TEST(Headroom, IsExactWhereNoBoundIsAboveZero) {
  Headroom headroom;
  headroom.add(0.0, 0.0);
  headroom.add(1e-3, 0.0);
  EXPECT_TRUE(headroom.is_exact());
  EXPECT_EQ(headroom.largest(), 0.0);
}

TEST(Headroom, DoesNotCountABrokenBitwiseComparison) {
  Headroom headroom = headroom_of({0.5});
  for (int i = 0; i < 9; ++i) headroom.add(1e-3, 0.0);
  EXPECT_DOUBLE_EQ(headroom.quantile(0.5), 0.5);
}

TEST(Headroom, HoldsWhatIsNotFiniteToBeBeyondEveryBound) {
  for (const double error : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Headroom headroom = headroom_of({0.5, 1e9});
    headroom.add(error, 1e-10);
    EXPECT_TRUE(std::isinf(headroom.largest()));
    expect_within_a_bin(headroom.quantile(0.3), 0.5);
    EXPECT_TRUE(std::isinf(headroom.quantile(1.0)));
  }
}

TEST(Headroom, IsTheSameInEveryOrderOfArrival) {
  const std::vector<double> ratios = {0.7, 0.0, 1e-5, 2.0, 1e-5, 0.03};
  const Headroom forward = headroom_of(ratios);
  const Headroom backward = headroom_of({ratios.rbegin(), ratios.rend()});
  for (const double share : {0.1, 0.3, 0.5, 0.7, 0.9, 1.0}) {
    EXPECT_EQ(forward.quantile(share), backward.quantile(share));
  }
}

TEST(Headroom, TellsZeroWithoutCasesAndRefusesWhatIsNoShare) {
  EXPECT_EQ(Headroom().quantile(0.5), 0.0);
  EXPECT_THROW(Headroom().quantile(0.0), InternalError);
  EXPECT_THROW(Headroom().quantile(1.1), InternalError);
}

}  // namespace
}  // namespace lockstep::test
