// RMS norm: its formula, and both gradients by finite differences.
#include "core/ops/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::numeric_gradient;
using test::relative_error;
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

TEST_F(RmsNorm, GradientsAgreeWithFiniteDifferences) {
  const Tensor x = random({5, 12});
  const Tensor g = random({12});
  const Tensor dy = random({5, 12});
  const auto forward = [&] { return rms_norm(ops(), x, g, kEps).y; };
  const RmsNormSaved saved{
      .x = x, .g = g, .inverse_rms_T = rms_norm(ops(), x, g, kEps).inverse_rms_T};
  EXPECT_LT(relative_error(values_of(rms_norm_backward_input(ops(), saved, dy)),
                           numeric_gradient(x, dy, forward)),
            1e-8);
  EXPECT_LT(relative_error(values_of(rms_norm_backward_weight(ops(), saved, dy)),
                           numeric_gradient(g, dy, forward)),
            1e-8);
}

TEST_F(RmsNorm, ARowOfZerosStaysFinite) {
  const Tensor x = reals({0.0, 0.0}, {1, 2});
  const Tensor g = reals({1.0, 1.0}, {2});
  EXPECT_EQ(values_of(rms_norm(ops(), x, g, kEps).y), (std::vector<double>{0.0, 0.0}));
}

TEST_F(RmsNorm, AWeightOfAnotherSizeIsRefused) {
  EXPECT_THROW(rms_norm(ops(), random({2, 3}), random({4}), kEps), InternalError);
}

}  // namespace
}  // namespace lockstep
