// Elementwise ops, column copies and sums.
#include "core/ops/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::values_of;

class Elementwise : public testing::Test, protected test::OpFixture {};

TEST_F(Elementwise, SiluIsXTimesItsSigmoid) {
  const std::vector<double> y = values_of(silu(ops(), reals({0.0, 1.0, -2.0}, {3})));
  EXPECT_EQ(y[0], 0.0);
  EXPECT_DOUBLE_EQ(y[1], 1.0 / (1.0 + std::exp(-1.0)));
  EXPECT_DOUBLE_EQ(y[2], -2.0 / (1.0 + std::exp(2.0)));
}

TEST_F(Elementwise, GatedSiluTakesTheGateFromTheFirstHalfOfARow) {
  const Tensor x = reals({1.0, -2.0, 3.0, 4.0, 0.0, 2.0, 5.0, -1.0}, {2, 4});
  const Tensor y = gated_silu(ops(), x);
  EXPECT_EQ(y.shape, Shape({2, 2}));
  const std::vector<double> gates = values_of(silu(ops(), reals({1.0, -2.0, 0.0, 2.0}, {4})));
  EXPECT_EQ(values_of(y),
            (std::vector<double>{3.0 * gates[0], 4.0 * gates[1], 0.0, -1.0 * gates[3]}));
  EXPECT_THROW(gated_silu(ops(), random({2, 3})), InternalError);
  EXPECT_THROW(gated_silu_backward(ops(), {.x = x}, random({4, 1})), InternalError);
}

TEST_F(Elementwise, AddLeavesItsArgumentsAlone) {
  const Tensor a = reals({1.0, 2.0}, {2});
  const Tensor b = reals({10.0, 20.0}, {2});
  EXPECT_EQ(values_of(add(ops(), a, b)), (std::vector<double>{11.0, 22.0}));
  EXPECT_EQ(values_of(a), (std::vector<double>{1.0, 2.0}));
}

TEST_F(Elementwise, AccumulateAddsAndScaleMultiplies) {
  const Tensor sum = reals({1.0, 2.0}, {2});
  accumulate(ops(), {.x = reals({0.5, 0.25}, {2}), .sum = sum}, "test");
  EXPECT_EQ(values_of(sum), (std::vector<double>{1.5, 2.25}));
  scale_in_place(ops(), sum, 4.0, "test");
  EXPECT_EQ(values_of(sum), (std::vector<double>{6.0, 9.0}));
  EXPECT_EQ(values_of(scaled_by(ops(), sum, reals({-1.0}, {1}))),
            (std::vector<double>{-6.0, -9.0}));
}

TEST_F(Elementwise, WeightedSumSkipsWhatWeighsNothing) {
  const Tensor x = reals({1.0, 2.0, 4.0}, {3});
  const Tensor weight = reals({1.0, 0.0, 1.0}, {3});
  EXPECT_EQ(values_of(weighted_sum(ops(), x, weight)), std::vector<double>{5.0});
}

TEST_F(Elementwise, ColumnsAreASliceOfEachRow) {
  const Tensor x = reals({0, 1, 2, 3, 4, 5, 6, 7}, {2, 4});
  const Tensor slice = columns(ops(), x, 1, 2);
  EXPECT_EQ(slice.shape, Shape({2, 2}));
  EXPECT_EQ(values_of(slice), (std::vector<double>{1, 2, 5, 6}));
  EXPECT_THROW(columns(ops(), x, 3, 2), InternalError);
}

TEST_F(Elementwise, PartsJoinSideBySide) {
  const Tensor parts = reals({0, 1, 4, 5, 2, 3, 6, 7}, {2, 2, 2});
  const Tensor joined = columns_joined(ops(), parts, 2, {2, 4});
  EXPECT_EQ(values_of(joined), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(values_of(columns(ops(), joined, 2, 2)), values_of(parts.rows(1, 1)));
}

TEST_F(Elementwise, PaddedColumnsAreZerosAround) {
  const Tensor padded = columns_padded(ops(), reals({1, 2, 3, 4}, {2, 2}), 1, 4);
  EXPECT_EQ(padded.shape, Shape({2, 4}));
  EXPECT_EQ(values_of(padded), (std::vector<double>{0, 1, 2, 0, 0, 3, 4, 0}));
  EXPECT_THROW(columns_padded(ops(), random({2, 2}), 3, 4), InternalError);
}

TEST_F(Elementwise, SplittingColumnsUndoesJoiningThem) {
  const Tensor parts = random({3, 4, 5});
  const Tensor split = columns_split(ops(), columns_joined(ops(), parts, 3, {2, 2, 15}), 3);
  EXPECT_EQ(split.shape, parts.shape);
  EXPECT_EQ(values_of(split), values_of(parts));
  EXPECT_THROW(columns_split(ops(), random({2, 5}), 2), InternalError);
}

TEST_F(Elementwise, TwoTypesAreRefusedButByAccumulate) {
  const Tensor x = random({2});
  const Tensor single = reals(DType::kF32, {0.5, 0.25}, {2});
  EXPECT_THROW(add(ops(), x, single), InternalError);
  EXPECT_THROW(silu_backward(ops(), {.x = x}, single), InternalError);
  EXPECT_THROW(weighted_sum(ops(), x, single), InternalError);
  EXPECT_THROW(scaled_by(ops(), x, single.rows(0, 1)), InternalError);
  const Tensor sum = reals({1.0, 2.0}, {2});
  accumulate(ops(), {.x = single, .sum = sum}, "test");
  EXPECT_EQ(values_of(sum), (std::vector<double>{1.5, 2.25}));
}

TEST_F(Elementwise, UnequalSizesAreRefused) {
  EXPECT_THROW(add(ops(), random({2}), random({3})), InternalError);
  EXPECT_THROW(scaled_by(ops(), random({2}), random({2})), InternalError);
  EXPECT_THROW(silu_backward(ops(), {.x = random({2})}, random({3})), InternalError);
}

}  // namespace
}  // namespace lockstep
