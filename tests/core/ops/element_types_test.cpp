// What kernels promise of an element type: one rounding at each store, and moves that keep every
// bit.
#include <gtest/gtest.h>

#include "core/ops/attention.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/vocabulary.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::OpFixture;
using test::values_of;

class BF16Stores : public testing::Test, protected OpFixture {
 protected:
  BF16Stores() : OpFixture(DType::kBF16) {}
};

TEST_F(BF16Stores, RoundToTheNearestTiesToEven) {
  const Tensor a = reals({1.0, 1.0 + 0x1p-7, -1.0, 1.0}, {4});
  const Tensor b = reals({0x1p-8, 0x1p-8, -0x1p-8, 0x1.02p-8}, {4});
  EXPECT_EQ(values_of(add(ops(), a, b)),
            (std::vector<double>{1.0, 1.0 + 0x1p-6, -1.0, 1.0 + 0x1p-7}));
}

// One after the other in bf16 the small terms would all be lost beside the 1.
TEST_F(BF16Stores, ComeAfterTheWholeSumHasBeenTakenInF32) {
  std::vector<double> column(9, 0x1p-10);
  column[0] = 1.0;
  EXPECT_EQ(values_of(add_bias_backward_bias(ops(), reals(column, {9, 1}))),
            std::vector<double>{1.0 + 0x1p-7});
  const Tensor ones = reals(std::vector<double>(9, 1.0), {1, 9});
  EXPECT_EQ(values_of(linear(ops(), reals(column, {1, 9}), ones)),
            std::vector<double>{1.0 + 0x1p-7});
}

// 1 + 2^-8 + 2^-50 is above the middle between two bf16; rounded to f32 on the way it would be the
// middle, and fall to the even one below.
TEST_F(BF16Stores, OfAnF64AreOneRoundingAndNotTwo) {
  const double above_middle = 1.0 + 0x1p-8 + 0x1p-50;
  const Tensor x = reals(DType::kF64, {above_middle, -above_middle, 0x1.01p-20}, {3});
  const Tensor y = converted(ops(), x, DType::kBF16);
  EXPECT_EQ(y.dtype, DType::kBF16);
  EXPECT_EQ(y.shape, x.shape);
  EXPECT_EQ(values_of(y), (std::vector<double>{1.0 + 0x1p-7, -1.0 - 0x1p-7, 0x1p-20}));
}

TEST_F(BF16Stores, GiveStatisticsOfTheAccumulationTypeAndOutputsOfTheirOwn) {
  const Tensor x = random({2, 4});
  const RmsNormResult result = rms_norm(ops(), x, random({4}), 1e-3);
  EXPECT_EQ(result.y.dtype, DType::kBF16);
  EXPECT_EQ(result.inverse_rms_T.dtype, DType::kF32);
}

class Moves : public testing::TestWithParam<DType>, protected OpFixture {
 protected:
  Moves() : OpFixture(GetParam(), GetParam()) {}
};

TEST_P(Moves, KeepEveryBitInEveryType) {
  const Tensor x = random({6, 16});
  const QkvGroups groups{.groups = 2, .queries = 2, .head_dim = 2};
  EXPECT_EQ(values_of(join_qkv(ops(), split_qkv(ops(), x, groups), groups)), values_of(x));
  EXPECT_EQ(values_of(columns_joined(ops(), columns_split(ops(), x, 4), 4, {6, 16})), values_of(x));
  const Tensor middle = columns(ops(), x, 3, 5);
  EXPECT_EQ(values_of(columns(ops(), columns_padded(ops(), middle, 2, 9), 2, 5)),
            values_of(middle));
  const Tensor ids = integers({5, 0, 3});
  const Tensor rows = embedding(ops(), ids, x, {.first_row = 0, .num_real = 6});
  EXPECT_EQ(values_of(rows.rows(0, 1)), values_of(x.rows(5, 1)));
}

TEST_P(Moves, ToAWiderTypeAndBackKeepEveryBit) {
  const Tensor x = random({40});
  for (const DType wide : {accumulation_type(GetParam()), DType::kF64}) {
    const Tensor widened = converted(ops(), x, wide);
    EXPECT_EQ(widened.dtype, wide);
    EXPECT_EQ(values_of(widened), values_of(x));
    const Tensor back = converted(ops(), widened, GetParam());
    EXPECT_EQ(back.dtype, GetParam());
    EXPECT_EQ(values_of(back), values_of(x));
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryType,
                         Moves,
                         testing::Values(DType::kF64, DType::kF32, DType::kBF16),
                         [](const auto& row) { return std::string(name_of(row.param)); });

}  // namespace
}  // namespace lockstep
