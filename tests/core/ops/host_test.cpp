// Host transfers: one rounding to the tensor's type on the way in, none on the way out.
#include "core/ops/host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using Values = std::vector<double>;

class HostTransfers : public testing::Test, protected test::OpFixture {
 protected:
  Values there_and_back(DType dtype, const Values& values) const {
    return read_reals(
        ops(), reals(dtype, values, {static_cast<std::int64_t>(values.size())}), "test");
  }
};

TEST_F(HostTransfers, F64KeepsEveryBit) {
  const Values numbers{1.0 / 3.0, -0.0, 1e-310};
  EXPECT_EQ(there_and_back(DType::kF64, numbers), numbers);
  EXPECT_THROW(reals(numbers, {2}), InternalError);
}

TEST_F(HostTransfers, F32RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(there_and_back(DType::kF32, {1.0 + 0x1p-24, 1.0 + 0x3p-24, 1.0 + 0x1p-24 + 0x1p-50}),
            (Values{1.0, 1.0 + 0x1p-22, 1.0 + 0x1p-23}));
}

TEST_F(HostTransfers, BF16RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(there_and_back(DType::kBF16, {1.0 + 0x1p-8, 1.0 + 0x3p-8, -1.0 - 0x3p-8}),
            (Values{1.0, 1.0 + 0x1p-6, -1.0 - 0x1p-6}));
}

// By way of float these would be ties, and go to the even side.
TEST_F(HostTransfers, BF16IsRoundedOnce) {
  EXPECT_EQ(
      there_and_back(DType::kBF16,
                     {1.0 + 0x1p-8 + 0x1p-40, -1.0 - 0x1p-8 - 0x1p-40, 1.0 + 0x3p-8 - 0x1p-40}),
      (Values{1.0 + 0x1p-7, -1.0 - 0x1p-7, 1.0 + 0x1p-7}));
}

TEST_F(HostTransfers, BF16KeepsInfinityAndNaNAndRoundsRandomNumbersAsArithmeticDoes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Values special = there_and_back(DType::kBF16, {infinity, -infinity, std::nan(""), 1e300});
  EXPECT_EQ(special[0], infinity);
  EXPECT_EQ(special[1], -infinity);
  EXPECT_TRUE(std::isnan(special[2]));
  EXPECT_EQ(special[3], infinity);
  Values numbers = test::values_of(OpFixture().random({1000}));
  const Values rounded = there_and_back(DType::kBF16, numbers);
  for (double& number : numbers) number = test::rounded_to(DType::kBF16, number);
  EXPECT_EQ(rounded, numbers);
}

TEST_F(HostTransfers, IntegersAreNoReals) {
  EXPECT_THROW(read_reals(ops(), integers({1, 2}), "test"), InternalError);
}

}  // namespace
}  // namespace lockstep
