// RMS and layer norm: their formulas; gradients are in jacobian_test.cpp.
#include "core/ops/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::values_of;

constexpr double kEps = 1e-3;

class RmsNorm : public testing::Test, protected test::OpFixture {};

TEST_F(RmsNorm, DividesEachRowByItsRootMeanSquare) {
  const Tensor x = reals({3.0, 4.0, -6.0, 8.0}, {2, 2});
  const Tensor g = reals({1.0, 2.0}, {2});
  const std::vector<double> y = values_of(rms_norm(ops(), x, g, kEps).y);
  EXPECT_DOUBLE_EQ(y[0], 3.0 / std::sqrt(12.5 + kEps));
  EXPECT_DOUBLE_EQ(y[1], 8.0 / std::sqrt(12.5 + kEps));
  EXPECT_DOUBLE_EQ(y[2], -6.0 / std::sqrt(50.0 + kEps));
  EXPECT_DOUBLE_EQ(y[3], 16.0 / std::sqrt(50.0 + kEps));
}

TEST_F(RmsNorm, ARowOfZerosStaysFinite) {
  const Tensor x = reals({0.0, 0.0}, {1, 2});
  const Tensor g = reals({1.0, 1.0}, {2});
  EXPECT_EQ(values_of(rms_norm(ops(), x, g, kEps).y), (std::vector<double>{0.0, 0.0}));
}

TEST_F(RmsNorm, AWeightOfAnotherSizeIsRefused) {
  EXPECT_THROW(rms_norm(ops(), random({2, 3}), random({4}), kEps), InternalError);
}

class LayerNorm : public testing::Test, protected test::OpFixture {};

TEST_F(LayerNorm, CentresEachRowAndDividesByItsDeviation) {
  const Tensor x = reals({1.0, 5.0, -2.0, 2.0}, {2, 2});
  const LayerNormWeights weights{.g = reals({1.0, 2.0}, {2}), .b = reals({0.5, -1.0}, {2})};
  const LayerNormResult result = layer_norm(ops(), x, weights, kEps);
  const double s = 1.0 / std::sqrt(4.0 + kEps);
  EXPECT_EQ(values_of(result.mean_T), (std::vector<double>{3.0, 0.0}));
  EXPECT_EQ(values_of(result.inverse_std_T), (std::vector<double>{s, s}));
  const std::vector<double> y = values_of(result.y);
  EXPECT_DOUBLE_EQ(y[0], 0.5 - 2.0 * s);
  EXPECT_DOUBLE_EQ(y[1], 4.0 * s - 1.0);
  EXPECT_DOUBLE_EQ(y[2], 0.5 - 2.0 * s);
  EXPECT_DOUBLE_EQ(y[3], 4.0 * s - 1.0);
}

TEST_F(LayerNorm, AConstantRowGivesTheBias) {
  const Tensor x = reals({3.0, 3.0}, {1, 2});
  const LayerNormWeights weights{.g = reals({1.0, 2.0}, {2}), .b = reals({0.5, -1.0}, {2})};
  EXPECT_EQ(values_of(layer_norm(ops(), x, weights, kEps).y), (std::vector<double>{0.5, -1.0}));
}

TEST_F(LayerNorm, WeightsOfAnotherSizeOrTypeAreRefused) {
  const Tensor x = random({2, 3});
  const Tensor g = random({3});
  EXPECT_THROW(layer_norm(ops(), x, {.g = g, .b = random({4})}, kEps), InternalError);
  EXPECT_THROW(layer_norm(ops(), x, {.g = random({4}), .b = g}, kEps), InternalError);
  const Tensor single = reals(DType::kF32, {1.0, 1.0, 1.0}, {3});
  EXPECT_THROW(layer_norm(ops(), x, {.g = g, .b = single}, kEps), InternalError);
}

}  // namespace
}  // namespace lockstep
