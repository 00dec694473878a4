// Norms, clipping and the optimizers over whole steps, each formula written down once more.
#include <gtest/gtest.h>

#include <cmath>

#include "matrix/reference/parameters.h"
#include "matrix/reference/reference.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using matrix::compute_reference;
using matrix::Tensors;

double norm_of(const Tensors& tensors) {
  double largest = 0.0;
  for (const sim::OracleTensor& tensor : tensors) {
    for (const double value : tensor.values) largest = std::hypot(largest, value);
  }
  return largest;
}

TEST(ReferenceNorms, AreTheRootsOfAllSquares) {
  for (const bool tied : {false, true}) {
    Case c = small_dense_case();
    c.model.tied = tied;
    for (const sim::OracleStep& step : compute_reference(c).steps) {
      EXPECT_NEAR(step.gradient_norm, norm_of(step.gradients), 1e-13);
      EXPECT_NEAR(step.parameter_norm, norm_of(step.parameters), 1e-12);
      EXPECT_GT(step.gradient_norm, 0.1);
    }
  }
}

TEST(ReferenceClip, ScalesAllGradientsByClipOverTheNormWhereThatIsBelowOne) {
  Case c = small_dense_case();
  c.recipe.clip = 0.1;
  for (const sim::OracleStep& step : compute_reference(c).steps) {
    const double coefficient = 0.1 / (step.gradient_norm + 1e-6);
    ASSERT_LT(coefficient, 1.0);
    ASSERT_EQ(step.clipped_gradients.size(), step.gradients.size());
    for (std::size_t i = 0; i < step.gradients.size(); ++i) {
      EXPECT_EQ(step.clipped_gradients[i].name, step.gradients[i].name);
      for (std::size_t j = 0; j < step.gradients[i].values.size(); ++j) {
        EXPECT_EQ(step.clipped_gradients[i].values[j], step.gradients[i].values[j] * coefficient);
      }
    }
    EXPECT_LT(norm_of(step.clipped_gradients), 0.1);
  }
}

TEST(ReferenceClip, LeavesGradientsThatAreShortEnoughAsTheyAre) {
  Case c = small_dense_case();
  c.recipe.clip = 1e3;
  for (const sim::OracleStep& step : compute_reference(c).steps) {
    ASSERT_EQ(step.clipped_gradients.size(), step.gradients.size());
    for (std::size_t i = 0; i < step.gradients.size(); ++i) {
      EXPECT_EQ(step.clipped_gradients[i].values, step.gradients[i].values);
    }
  }
}

TEST(ReferenceClip, OfZeroIsNoClipping) {
  Case c = small_dense_case();
  c.recipe.clip = 0.0;
  for (const sim::OracleStep& step : compute_reference(c).steps) {
    EXPECT_TRUE(step.clipped_gradients.empty());
  }
}

// AdamW over two steps by its closed form; with bias correction the first is lr g / (|g| + eps).
TEST(ReferenceUpdate, OfAdamWIsItsFormulaOnTheClippedGradients) {
  Case c = small_dense_case();
  c.recipe.betas = {0.8, 0.9};
  c.recipe.lr = 1e-2;
  const sim::Oracle oracle = compute_reference(c);
  const sim::OracleStep& first = oracle.steps[0];
  const sim::OracleStep& second = oracle.steps[1];
  for (std::size_t i = 0; i < oracle.initial_parameters.size(); ++i) {
    const double decay = oracle.initial_parameters[i].shape.size() > 1 ? 0.1 : 0.0;
    for (std::size_t j = 0; j < oracle.initial_parameters[i].values.size(); ++j) {
      const double p0 = oracle.initial_parameters[i].values[j];
      const double p1 = first.parameters[i].values[j];
      const double g1 = first.clipped_gradients[i].values[j];
      const double g2 = second.clipped_gradients[i].values[j];
      EXPECT_NEAR(p1, p0 - 1e-2 * (g1 / (std::abs(g1) + 1e-8) + decay * p0), 1e-14);
      const double mean = (0.8 * 0.2 * g1 + 0.2 * g2) / 0.36;
      const double square = (0.9 * 0.1 * g1 * g1 + 0.1 * g2 * g2) / 0.19;
      EXPECT_NEAR(second.parameters[i].values[j],
                  p1 - 1e-2 * (mean / (std::sqrt(square) + 1e-8) + decay * p1),
                  1e-14);
    }
  }
}

TEST(ReferenceUpdate, OfSgdTakesClippedGradientsAndDecay) {
  Case c = small_dense_case();
  c.recipe.optimizer = Optimizer::kSgd;
  c.recipe.lr = 0.25;
  const sim::Oracle oracle = compute_reference(c);
  const sim::OracleStep& first = oracle.steps[0];
  for (std::size_t i = 0; i < oracle.initial_parameters.size(); ++i) {
    const double decay = oracle.initial_parameters[i].shape.size() > 1 ? 0.1 : 0.0;
    for (std::size_t j = 0; j < oracle.initial_parameters[i].values.size(); ++j) {
      const double p = oracle.initial_parameters[i].values[j];
      EXPECT_EQ(first.parameters[i].values[j],
                p - 0.25 * (first.clipped_gradients[i].values[j] + decay * p));
    }
  }
}

TEST(ReferenceUpdate, WithoutTargetsMovesNothingButWeightsThatDecay) {
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kAdamW}) {
    Case c = small_dense_case();
    c.model.bias = true;
    c.model.norm = Norm::kLayer;
    c.model.attention_sink = true;
    c.recipe.mask = Mask::kNone;
    c.recipe.optimizer = optimizer;
    const sim::Oracle oracle = compute_reference(c);
    const sim::OracleStep& first = oracle.steps[0];
    EXPECT_EQ(first.loss, 0.0);
    EXPECT_EQ(first.gradient_norm, 0.0);
    for (std::size_t i = 0; i < oracle.initial_parameters.size(); ++i) {
      const sim::OracleTensor& before = oracle.initial_parameters[i];
      for (const double value : first.gradients[i].values) EXPECT_EQ(value, 0.0);
      for (const double value : first.clipped_gradients[i].values) EXPECT_EQ(value, 0.0);
      for (std::size_t j = 0; j < before.values.size(); ++j) {
        const double decay = before.shape.size() > 1 ? 0.1 : 0.0;
        EXPECT_EQ(first.parameters[i].values[j],
                  before.values[j] - c.recipe.lr * (decay * before.values[j]));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
