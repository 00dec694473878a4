// The counter hash gives the same bits on every machine, spread evenly.
#include "core/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>

namespace lockstep {
namespace {

constexpr std::uint64_t kSeed = 7;

TEST(Random, IsAFunctionOfSeedStreamAndIndex) {
  EXPECT_EQ(random_bits(1, 2, 3), random_bits(1, 2, 3));
  const std::set<std::uint64_t> distinct = {random_bits(1, 2, 3),
                                            random_bits(2, 2, 3),
                                            random_bits(1, 3, 3),
                                            random_bits(1, 2, 4),
                                            random_bits(3, 2, 1),
                                            random_bits(2, 1, 3)};
  EXPECT_EQ(distinct.size(), 6U);
}

TEST(Random, BitsAreThoseOfTheFirstRelease) {
  EXPECT_EQ(random_bits(0, 0, 0), 0x238275bc38fcbe91ULL);
  EXPECT_EQ(random_bits(1, 2, 3), 0xd0734750fde362b3ULL);
  EXPECT_EQ(random_unit(1, 2, 3), 0x1.a0e68ea1fbc6cp-1);
}

TEST(Random, UnitIsAMultipleOfTwoToTheMinus53InTheHalfOpenInterval) {
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double x = random_unit(kSeed, 0, i);
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    ASSERT_EQ(std::ldexp(x, 53), std::floor(std::ldexp(x, 53)));
  }
}

TEST(Random, SignedIsAMultipleOfTwoToTheMinus52InTheHalfOpenInterval) {
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double x = random_signed(kSeed, 0, i);
    ASSERT_GE(x, -1.0);
    ASSERT_LT(x, 1.0);
    ASSERT_EQ(std::ldexp(x, 52), std::floor(std::ldexp(x, 52)));
  }
}

// The standard error of the mean is 1/sqrt(12 n) = 0.0009, of the second moment 0.0009 too.
TEST(Random, UnitHasTheMomentsOfAUniformDistribution) {
  constexpr int kCount = 100'000;
  double sum = 0.0;
  double sum_of_squares = 0.0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = random_unit(kSeed, 1, i);
    sum += x;
    sum_of_squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 1.0 / 2.0, 0.005);
  EXPECT_NEAR(sum_of_squares / kCount, 1.0 / 3.0, 0.005);
}

TEST(Random, EveryBitIsSetHalfOfTheTime) {
  constexpr int kCount = 10'000;
  for (int bit = 0; bit < 64; ++bit) {
    int num_set = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      num_set += static_cast<int>((random_bits(kSeed, 2, i) >> bit) & 1U);
    }
    EXPECT_NEAR(num_set, kCount / 2, 300) << "bit " << bit;  // six standard deviations
  }
}

TEST(Random, StreamOfANameIsItsFnvHash) {
  EXPECT_EQ(stream_of(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(stream_of("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(stream_of("foobar"), 0x85944171f73967e8ULL);
}

}  // namespace
}  // namespace lockstep
