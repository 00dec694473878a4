// The training program on its own: what a step reports, and what must not change its bits.
#include "core/train/trainer.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

RankResult train_alone(const Case& c) {
  RankResult result;
  const auto report = test::spawn_contexts(
      c.layout, [&](const RankContext& context) { train(context, c, make_plans(c), result); });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  return result;
}

TEST(Trainer, ReportsEachMicroBatchAndEveryParameterEachStep) {
  const Case c = preset_case("tiny-linear");
  const RankResult result = train_alone(c);
  ASSERT_EQ(result.steps.size(), 2U);
  for (const StepResult& step : result.steps) {
    EXPECT_EQ(step.losses.size(), 12U);
    EXPECT_EQ(step.gradients.size(), 9U);
    EXPECT_EQ(step.parameters.size(), 9U);
    EXPECT_EQ(step.gradients[0].values.size(), 96U * 32U);
  }
  EXPECT_NE(result.steps[0].loss, result.steps[1].loss);
}

TEST(Trainer, AStepSubtractsTheLearningRateTimesTheGradient) {
  Case c = preset_case("tiny-linear");
  const RankResult result = train_alone(c);
  const Shard& before = result.steps[0].parameters[2];
  const Shard& gradient = result.steps[1].gradients[2];
  const Shard& after = result.steps[1].parameters[2];
  for (std::size_t i = 0; i < after.values.size(); ++i) {
    EXPECT_EQ(after.values[i], before.values[i] - c.recipe.lr * gradient.values[i]);
  }
}

TEST(Trainer, PaddedRowsGetNoGradient) {
  const RankResult result = train_alone(preset_case("tiny-linear"));
  for (const std::size_t parameter : {std::size_t{0}, std::size_t{8}}) {
    const std::vector<double>& gradient = result.steps[0].gradients[parameter].values;
    for (std::size_t i = 90 * 32; i < gradient.size(); ++i) EXPECT_EQ(gradient[i], 0.0);
  }
}

TEST(Trainer, WithoutTargetsLossAndGradientsAreZeroAndNothingMoves) {
  Case c = preset_case("tiny-linear");
  c.recipe.mask = Mask::kNone;
  for (const LossNorm norm : {LossNorm::kToken, LossNorm::kMicroBatch}) {
    c.recipe.loss_norm = norm;
    const RankResult result = train_alone(c);
    EXPECT_EQ(result.steps[0].loss, 0.0);
    for (std::size_t p = 0; p < result.steps[0].gradients.size(); ++p) {
      for (const double value : result.steps[0].gradients[p].values) EXPECT_EQ(value, 0.0);
      EXPECT_EQ(result.steps[0].parameters[p].values, result.steps[1].parameters[p].values);
    }
  }
}

TEST(Trainer, BucketSizesDoNotChangeABit) {
  Case c = preset_case("tiny-linear");
  const RankResult whole = train_alone(c);
  c.recipe.bucket_elements = 1;
  const RankResult cut = train_alone(c);
  for (std::size_t p = 0; p < whole.steps[1].parameters.size(); ++p) {
    EXPECT_EQ(whole.steps[1].parameters[p].values, cut.steps[1].parameters[p].values);
  }
}

}  // namespace
}  // namespace lockstep
