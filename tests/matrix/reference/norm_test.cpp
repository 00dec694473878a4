// The norms by hand.
#include "matrix/reference/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

using matrix::Matrix;
using matrix::NormResult;
using Vector = std::vector<double>;

Matrix row_of(const Vector& values) {
  Matrix x(1, static_cast<std::int64_t>(values.size()));
  x.values = values;
  return x;
}

TEST(ReferenceNorm, OfRmsDividesByTheRootOfTheMeanSquare) {
  const Vector weight{2.0, 0.5};
  // mean(1, 49) = 25
  const NormResult result =
      norm(row_of({1.0, -7.0}), {.kind = Norm::kRms, .eps = 0.0, .weight_H = weight, .bias_H = {}});
  EXPECT_EQ(result.y_TH.values, (Vector{1.0 / 5.0 * 2.0, -7.0 * (1.0 / 5.0) * 0.5}));
}

TEST(ReferenceNorm, OfLayerTakesTheMeanAwayAndAddsTheBias) {
  const Vector weight{2.0, 3.0, 1.0, 1.0};
  const Vector bias{0.25, 0.0, 0.0, -1.0};
  // mean 3, deviations -4 4 -4 4, variance 16, with eps 9: 25
  const NormResult result =
      norm(row_of({-1.0, 7.0, -1.0, 7.0}),
           {.kind = Norm::kLayer, .eps = 9.0, .weight_H = weight, .bias_H = bias});
  const Vector expected{-0.8 * 2.0 + 0.25, 0.8 * 3.0, -0.8, 0.8 - 1.0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(result.y_TH.values[i], expected[i], 1e-15);
  }
}

TEST(ReferenceNorm, RefusesABiasThatItsKindDoesNotHave) {
  const Vector two{1.0, 2.0};
  EXPECT_THROW(norm(row_of(two), {.kind = Norm::kRms, .eps = 0.0, .weight_H = two, .bias_H = two}),
               InternalError);
  EXPECT_THROW(norm(row_of(two), {.kind = Norm::kLayer, .eps = 0.0, .weight_H = two, .bias_H = {}}),
               InternalError);
}

}  // namespace
}  // namespace lockstep::test
