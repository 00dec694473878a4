// The reference's hand-written backward against differences of its objective.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "matrix/reference/decoder.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using matrix::Tensors;

double objective_at(const Case& c, const Tensors& parameters) {
  return matrix::run_batch(c, 0, parameters).objective;
}

struct Element {
  std::size_t tensor;
  std::size_t index;
};

// Central differences of fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h.
double slope(const Case& c, Tensors parameters, Element element) {
  constexpr double kStep = 1e-3;
  double& value = parameters[element.tensor].values[element.index];
  const double at = value;
  const auto moved = [&](double distance) {
    value = at + distance;
    return objective_at(c, parameters);
  };
  const double near = moved(kStep) - moved(-kStep);
  const double far = moved(2 * kStep) - moved(-2 * kStep);
  return (8.0 * near - far) / (12.0 * kStep);
}

TEST(ReferenceGradient, IsTheSlopeOfTheObjectiveForEveryParameterMaskAndNorm) {
  std::uint64_t draw = 0;
  for (const Mask mask : kAllMasks) {
    for (const LossNorm norm : kBothNorms) {
      const Case c = small_case(mask, norm);
      const Tensors parameters = matrix::initial_parameters(c);
      const Tensors gradients = matrix::run_batch(c, 0, parameters).gradients;
      ASSERT_EQ(gradients.size(), parameters.size());
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        ASSERT_EQ(gradients[i].name, parameters[i].name);
        ASSERT_EQ(gradients[i].values.size(), parameters[i].values.size());
        for (int repeat = 0; repeat < 8; ++repeat) {
          const std::size_t index =
              random_bits(7, stream_of("element"), draw++) % parameters[i].values.size();
          const double expected = slope(c, parameters, {.tensor = i, .index = index});
          EXPECT_NEAR(gradients[i].values[index], expected, 1e-9)
              << parameters[i].name << "[" << index << "]";
        }
      }
    }
  }
}

TEST(ReferenceGradient, IsNotZeroForAnyTensorOfAFullBatch) {
  const Case c = small_case(Mask::kFull, LossNorm::kToken);
  for (const sim::OracleTensor& gradient :
       matrix::run_batch(c, 0, matrix::initial_parameters(c)).gradients) {
    double largest = 0.0;
    for (const double value : gradient.values) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 1e-3) << gradient.name;
  }
}

}  // namespace
}  // namespace lockstep::test
