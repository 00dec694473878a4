// The linear map against plain sums, and its bias; gradients are in adjoint_test.cpp.
#include "core/ops/linear.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::relative_error;
using test::values_of;

class Linear : public testing::Test, protected test::OpFixture {};

// y[t,o] = sum_i x[t,i] W[o,i] in a plain loop.
std::vector<double> plain_linear(const Tensor& x, const Tensor& w) {
  const std::int64_t in = w.shape[1];
  std::vector<double> y;
  for (std::int64_t t = 0; t < x.num_elements() / in; ++t) {
    for (std::int64_t o = 0; o < w.shape[0]; ++o) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < in; ++i) {
        sum += x.data<double>()[t * in + i] * w.data<double>()[o * in + i];
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST_F(Linear, EqualsAPlainSumOfProducts) {
  for (const Shape& shape : {Shape{1, 1}, Shape{7, 5}, Shape{8, 32}, Shape{3, 2, 100}}) {
    const Tensor x = random(shape);
    const Tensor w = random({13, shape.last()});
    const Tensor y = linear(ops(), x, w);
    EXPECT_EQ(y.shape.last(), 13);
    EXPECT_LT(relative_error(values_of(y), plain_linear(x, w)), 1e-14);
  }
}

TEST_F(Linear, NeedsNoLargeBlockOnTheStack) {
  // 96 x 96 is where Eigen's packing would overflow a fiber's stack; here it must only be right.
  const Tensor x = random({96, 96});
  const Tensor w = random({96, 96});
  EXPECT_LT(relative_error(values_of(linear(ops(), x, w)), plain_linear(x, w)), 1e-13);
}

TEST_F(Linear, BitsDoNotDependOnWhereAViewStarts) {
  const Tensor block = random({4, 8, 24});
  const Tensor w = random({20, 24});
  for (std::int64_t i = 0; i < 4; ++i) {
    const Tensor view = block.rows(i, 1).reshaped({8, 24});
    const Tensor alone = reals(values_of(view), {8, 24});
    EXPECT_EQ(values_of(linear(ops(), view, w)), values_of(linear(ops(), alone, w)));
  }
}

TEST_F(Linear, ABiasIsAddedToEveryRowAndItsGradientIsTheSumOverThem) {
  const Tensor x = reals({1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_EQ(values_of(add_bias(ops(), x, reals({10, 20}, {2}))),
            (std::vector<double>{11, 22, 13, 24, 15, 26}));
  const Tensor db = add_bias_backward_bias(ops(), x);
  EXPECT_EQ(db.shape, Shape({2}));
  EXPECT_EQ(values_of(db), (std::vector<double>{9, 12}));
  EXPECT_THROW(add_bias(ops(), x, reals({10}, {1})), InternalError);
}

TEST_F(Linear, TwoTypesAreRefused) {
  const Tensor single = reals(DType::kF32, {1, 2}, {1, 2});
  EXPECT_THROW(linear(ops(), single, random({4, 2})), InternalError);
  EXPECT_THROW(add_bias(ops(), single, random({2})), InternalError);
}

TEST_F(Linear, ShapesThatDoNotFitAreRefused) {
  EXPECT_THROW(linear(ops(), random({2, 3}), random({4, 5})), InternalError);
  const LinearSaved saved{.x = random({4, 5}), .weight = random({4, 5})};
  EXPECT_THROW(linear_backward_input(ops(), saved, random({2, 3})), InternalError);
  EXPECT_THROW(linear_backward_weight(ops(), saved, random({2, 3})), InternalError);
}

}  // namespace
}  // namespace lockstep
