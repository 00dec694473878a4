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
  return matrix::run_batch(c, matrix::make_batch(c, 0), parameters).objective;
}

struct Element {
  std::size_t tensor;
  std::size_t index;
};

// Central differences of fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h.
double slope(const Case& c, Tensors parameters, Element element) {
  // Truncation grows with its fourth power, rounding with its inverse: 1e-12 and 1e-11 here.
  constexpr double kStep = 1e-4;
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

Tensors gradients_at(const Case& c, const Tensors& parameters) {
  return matrix::run_batch(c, matrix::make_batch(c, 0), parameters).gradients;
}

void expect_slopes(const Case& c, int elements_a_tensor, std::uint64_t& draw) {
  const Tensors parameters = matrix::initial_parameters(c);
  const Tensors gradients = gradients_at(c, parameters);
  ASSERT_EQ(gradients.size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_EQ(gradients[i].name, parameters[i].name);
    ASSERT_EQ(gradients[i].values.size(), parameters[i].values.size());
    for (int repeat = 0; repeat < elements_a_tensor; ++repeat) {
      const std::size_t index =
          random_bits(7, stream_of("element"), draw++) % parameters[i].values.size();
      const double expected = slope(c, parameters, {.tensor = i, .index = index});
      EXPECT_NEAR(gradients[i].values[index], expected, 1e-10)
          << parameters[i].name << "[" << index << "]";
    }
  }
}

TEST(ReferenceGradient, IsTheSlopeOfTheObjectiveForEveryParameterMaskAndNorm) {
  std::uint64_t draw = 0;
  for (const Mask mask : kAllMasks) {
    for (const LossNorm norm : kBothNorms) expect_slopes(small_case(mask, norm), 8, draw);
  }
}

TEST(ReferenceGradient, IsTheSlopeOfTheObjectiveForEveryParameterOfEveryVariant) {
  std::uint64_t draw = 0;
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    Case c = small_dense_case();
    variant.edit(c);
    expect_slopes(c, 6, draw);
  }
}

// The rules refuse it for the sake of layouts, which the reference does not know.
TEST(ReferenceGradient, IsTheSlopeOfTheObjectiveForPackedMicroBatchesOfSeveralSamples) {
  std::uint64_t draw = 0;
  Case c = small_dense_case();
  take_everything(c);
  c.recipe.micro_batch = 2;
  expect_slopes(c, 6, draw);
}

double largest_of(const sim::OracleTensor& tensor) {
  double largest = 0.0;
  for (const double value : tensor.values) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(ReferenceGradient, IsNotZeroForAnyTensorOfAFullBatch) {
  const Case linear = small_case(Mask::kFull, LossNorm::kToken);
  Case dense = small_dense_case();
  dense.model.norm = Norm::kLayer;
  dense.model.bias = true;
  dense.recipe.mask = Mask::kFull;
  dense.model.attention_sink = true;
  Case everything = small_dense_case();
  take_everything(everything);
  everything.recipe.mask = Mask::kFull;
  for (const Case& c : {linear, dense, everything}) {
    for (const sim::OracleTensor& gradient : gradients_at(c, matrix::initial_parameters(c))) {
      EXPECT_GT(largest_of(gradient), 1e-3) << gradient.name;
    }
  }
}

// Softmax does not see what is common to all keys of a query.
TEST(ReferenceGradient, OfAKeyBiasWithoutRopeAndNormsIsRounding) {
  Case c = small_dense_case();
  c.model.bias = true;
  c.model.qk_norm = false;
  c.model.position = Position::kNone;
  c.model.num_key_value_heads = 1;
  Tensors gradients = gradients_at(c, matrix::initial_parameters(c));
  const std::span<double> bias =
      matrix::values_of(gradients, "decoder.layers.0.self_attention.linear_qkv.bias");
  for (std::size_t i = 16; i < 20; ++i) EXPECT_LT(std::abs(bias[i]), 1e-15);
  for (std::size_t i = 20; i < 24; ++i) EXPECT_GT(std::abs(bias[i]), 1e-4);
}

TEST(ReferenceGradient, OfATiedWeightIsTheSumOfBothUses) {
  Case c = small_dense_case();
  Tensors parameters = matrix::initial_parameters(c);
  parameters.back().values = parameters.front().values;
  const Tensors untied = gradients_at(c, parameters);
  c.model.tied = true;
  parameters.pop_back();
  const Tensors tied = gradients_at(c, parameters);
  for (std::size_t i = 0; i < tied.front().values.size(); ++i) {
    EXPECT_NEAR(tied.front().values[i], untied.front().values[i] + untied.back().values[i], 1e-15);
  }
}

}  // namespace
}  // namespace lockstep::test
