// The reference's losses against the formulas written down once more, token by token.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/config/data.h"
#include "matrix/reference/decoder.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using matrix::BatchResult;
using matrix::Tensors;
using Vector = std::vector<double>;

Vector normed(const Vector& x, const Vector& gain, double eps) {
  double mean = 0.0;
  for (const double value : x) mean += value * value / static_cast<double>(x.size());
  Vector y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(gain[i] * x[i] / std::sqrt(mean + eps));
  return y;
}

Vector times(const Vector& weight, const Vector& x) {
  Vector y(weight.size() / x.size());
  for (std::size_t i = 0; i < weight.size(); ++i) y[i / x.size()] += weight[i] * x[i % x.size()];
  return y;
}

double token_loss(const Case& c, const Tensors& p, std::int64_t input, std::int64_t label) {
  const auto hidden = static_cast<std::size_t>(c.model.hidden_size);
  Vector x;
  for (std::size_t j = 0; j < hidden; ++j) {
    x.push_back(p[0].values[static_cast<std::size_t>(input) * hidden + j]);
  }
  for (std::size_t layer = 0; layer < 2; ++layer) {
    Vector a = times(p[2 + 3 * layer].values, normed(x, p[1 + 3 * layer].values, c.model.norm_eps));
    for (double& value : a) value /= 1.0 + std::exp(-value);
    const Vector out = times(p[3 + 3 * layer].values, a);
    for (std::size_t j = 0; j < hidden; ++j) x[j] += out[j];
  }
  const Vector logits = times(p[8].values, normed(x, p[7].values, c.model.norm_eps));
  double sum = 0.0;
  for (const double logit : logits) sum += std::exp(logit);
  return -std::log(std::exp(logits[static_cast<std::size_t>(label)]) / sum);
}

struct Expected {
  Vector micro_batch_losses;
  std::vector<std::int64_t> targets;
  double objective = 0.0;
};

Expected expected_of(const Case& c, std::int64_t step, const Tensors& p) {
  Expected expected;
  double sum_of_all = 0.0;
  std::int64_t all_targets = 0;
  double sum_of_means = 0.0;
  for (std::int64_t first = 0; first < 6; first += 2) {
    double sum = 0.0;
    std::int64_t targets = 0;
    for (std::int64_t sample = first; sample < first + 2; ++sample) {
      for (std::int64_t position = 0; position < 4; ++position) {
        if (!is_target(c, step, sample, position)) continue;
        ++targets;
        sum += token_loss(
            c, p, token(c, step, sample, position), token(c, step, sample, position + 1));
      }
    }
    expected.targets.push_back(targets);
    expected.micro_batch_losses.push_back(targets == 0 ? 0.0 : sum / static_cast<double>(targets));
    sum_of_means += expected.micro_batch_losses.back();
    sum_of_all += sum;
    all_targets += targets;
  }
  const double token_mean = all_targets == 0 ? 0.0 : sum_of_all / static_cast<double>(all_targets);
  expected.objective = c.recipe.loss_norm == LossNorm::kToken ? token_mean : sum_of_means / 3.0;
  return expected;
}

BatchResult run_first(const Case& c) {
  return matrix::run_batch(c, matrix::make_batch(c, 0), matrix::initial_parameters(c));
}

TEST(ReferenceObjective, IsTheFormulaTokenByTokenForEveryMaskAndNorm) {
  for (const Mask mask : kAllMasks) {
    for (const LossNorm norm : kBothNorms) {
      const Case c = small_case(mask, norm);
      const Tensors parameters = matrix::initial_parameters(c);
      for (const std::int64_t step : {0, 1}) {
        const matrix::Batch batch = matrix::make_batch(c, step);
        const BatchResult result = matrix::run_batch(c, batch, parameters);
        const Expected expected = expected_of(c, step, parameters);
        EXPECT_EQ(batch.targets_G, expected.targets);
        EXPECT_NEAR(result.objective, expected.objective, 1e-13);
        ASSERT_EQ(result.micro_batch_losses.size(), 3U);
        for (std::size_t g = 0; g < 3; ++g) {
          EXPECT_NEAR(result.micro_batch_losses[g], expected.micro_batch_losses[g], 1e-13);
        }
      }
    }
  }
}

TEST(ReferenceObjective, IsTheLogOfTheVocabularyForUniformLogits) {
  const Case c = small_case(Mask::kFull, LossNorm::kToken);
  Tensors parameters = matrix::initial_parameters(c);
  for (double& value : parameters.back().values) value = 0.0;
  EXPECT_NEAR(
      matrix::run_batch(c, matrix::make_batch(c, 0), parameters).objective, std::log(11.0), 1e-14);
}

TEST(ReferenceObjective, StaysFiniteForLogitsWhoseExponentialOverflows) {
  const Case c = small_case(Mask::kFull, LossNorm::kToken);
  Tensors parameters = matrix::initial_parameters(c);
  for (double& value : parameters.back().values) value *= 1e4;
  const BatchResult result = matrix::run_batch(c, matrix::make_batch(c, 0), parameters);
  EXPECT_TRUE(std::isfinite(result.objective));
  EXPECT_GT(result.objective, 100.0);
}

TEST(ReferenceObjective, AndGradientsAreExactlyZeroWithoutTargets) {
  Case dense = small_dense_case();
  dense.recipe.global_batch = 6;
  dense.recipe.mask = Mask::kNone;
  dense.recipe.label_smoothing = 0.1;
  for (const Case& c : {small_case(Mask::kNone, LossNorm::kMicroBatch),
                        small_case(Mask::kNone, LossNorm::kToken),
                        dense}) {
    const BatchResult result = run_first(c);
    EXPECT_EQ(result.objective, 0.0);
    EXPECT_EQ(result.micro_batch_losses, (Vector{0.0, 0.0, 0.0}));
    for (const sim::OracleTensor& gradient : result.gradients) {
      for (const double value : gradient.values) EXPECT_EQ(value, 0.0);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
