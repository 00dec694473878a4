// Statistics are exact in f64 where the tensor's own type, and its accumulation type, are not.
#include "core/ops/statistics.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::values_of;
using Values = std::vector<double>;

class Statistics : public testing::TestWithParam<DType>, protected test::OpFixture {
 protected:
  Statistics() : OpFixture(GetParam()) {}
};

TEST_P(Statistics, SumOfSquaresKeepsAOneBesideTwoToThe24) {
  const Tensor sum = sum_of_squares(ops(), reals({4096.0, 1.0, -1.0}, {3}), "test");
  EXPECT_EQ(sum.dtype, DType::kF64);
  EXPECT_EQ(values_of(sum), Values{16777218.0});
  EXPECT_EQ(values_of(sum_of_squares(ops(), reals({4096.0, 1.0}, {2}), "test")),
            Values{16777217.0});
}

TEST_P(Statistics, OnlyExactZerosCountWhateverTheirSign) {
  const Tensor x = reals({0.0, -0.0, 0x1p-130, -1.0, 0.0}, {5});
  EXPECT_EQ(values_of(count_zeros(ops(), x, "test")), Values{3.0});
}

TEST_P(Statistics, NaNIsNoZeroAndIsNotDroppedFromASum) {
  const Tensor unwritten = new_tensor(ops(), {3}, "test");
  EXPECT_EQ(values_of(count_zeros(ops(), unwritten, "test")), Values{0.0});
  const double sum = values_of(sum_of_squares(ops(), unwritten, "test"))[0];
  EXPECT_NE(sum, sum);
}

INSTANTIATE_TEST_SUITE_P(OfEveryType,
                         Statistics,
                         testing::Values(DType::kF64, DType::kF32, DType::kBF16),
                         [](const auto& row) { return std::string(name_of(row.param)); });

class LongTensor : public testing::Test, protected test::OpFixture {
 protected:
  LongTensor() : OpFixture(DType::kBF16) {}
};

TEST_F(LongTensor, OfBF16HasItsOnesAndZerosCountedBeyondTwoToThe24) {
  constexpr std::int64_t kCount = (std::int64_t{1} << 24) + 1;
  const Tensor many = new_tensor(ops(), {kCount}, "test");
  fill(ops(), many, 0.0, "test");
  EXPECT_EQ(values_of(count_zeros(ops(), many, "test")), Values{16777217.0});
  fill(ops(), many, 1.0, "test");
  EXPECT_EQ(values_of(sum_of_squares(ops(), many, "test")), Values{16777217.0});
}

}  // namespace
}  // namespace lockstep
