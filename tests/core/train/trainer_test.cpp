// The training program on its own: what a step reports, and what must hold of it.
#include "core/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/config/presets.h"
#include "core/model/describe_model.h"
#include "tests/core/train/train_ranks.h"

namespace lockstep {
namespace {

using test::train_ranks;

RankResult train_alone(const Case& c) { return train_ranks(c).at(0); }

TEST(Trainer, ReportsEachMicroBatchAndEveryParameterEachStep) {
  const Case c = preset_case("tiny-dense");
  const RankResult result = train_alone(c);
  const std::size_t num_parameters = describe_model(c.model, c.layout).size();
  ASSERT_EQ(result.steps.size(), 2U);
  for (const StepResult& step : result.steps) {
    ASSERT_EQ(step.losses.size(), 12U);
    EXPECT_EQ(step.losses[3].activations.size(), describe_activations(c).size());
    for (const auto* shards : {&step.gradients,
                               &step.clipped_gradients,
                               &step.parameters,
                               &step.exp_avg,
                               &step.exp_avg_sq}) {
      EXPECT_EQ(shards->size(), num_parameters);
    }
    EXPECT_TRUE(step.masters.empty()) << "f64 parameters are their own masters";
    EXPECT_EQ(step.gradients[0].values.size(), 96U * 32U);
  }
  EXPECT_NE(result.steps[0].loss, result.steps[1].loss);
  EXPECT_EQ(result.probes.size(), 3 * result.steps[0].gradients.size() + 5);
}

TEST(Trainer, ReportsMastersWhereParametersAreRounded) {
  Case c = preset_case("tiny-dense");
  c.recipe.dtype = Precision::kBF16;
  c.recipe.global_batch = 2;
  const StepResult step = train_alone(c).steps[1];
  ASSERT_EQ(step.masters.size(), step.parameters.size());
  EXPECT_NE(step.masters[0].values, step.parameters[0].values);
  EXPECT_NEAR(step.masters[0].values[5], step.parameters[0].values[5], 0.01);
}

TEST(Trainer, WhatIsNotKeptIsNotReported) {
  const StepResult step = train_alone(preset_case("tiny-linear")).steps[0];
  EXPECT_TRUE(step.clipped_gradients.empty());
  EXPECT_TRUE(step.exp_avg.empty());
  EXPECT_TRUE(step.exp_avg_sq.empty());
}

TEST(Trainer, AStepSubtractsTheLearningRateTimesTheGradient) {
  Case c = preset_case("tiny-linear");
  const RankResult result = train_alone(c);
  const Shard& before = result.steps[0].parameters[2];
  const Shard& gradient = result.steps[1].gradients[2];
  const Shard& after = result.steps[1].parameters[2];
  ASSERT_FALSE(after.values.empty());
  ASSERT_EQ(before.values.size(), after.values.size());
  ASSERT_EQ(gradient.values.size(), after.values.size());
  for (std::size_t i = 0; i < after.values.size(); ++i) {
    EXPECT_EQ(after.values[i], before.values[i] - c.recipe.lr * gradient.values[i]);
  }
}

double norm_of(const std::vector<Shard>& shards) {
  double sum = 0.0;
  for (const Shard& shard : shards) {
    for (const double value : shard.values) sum += value * value;
  }
  return std::sqrt(sum);
}

TEST(Trainer, ClippingBringsTheReportedNormDownToTheLargest) {
  const Case c = preset_case("tiny-dense");
  const StepResult step = train_alone(c).steps[0];
  EXPECT_GT(step.gradient_norm, c.recipe.clip) << "the preset's clip must bite";
  EXPECT_NEAR(norm_of(step.gradients), step.gradient_norm, 1e-14);
  EXPECT_NEAR(norm_of(step.clipped_gradients), c.recipe.clip, 1e-6);
  const double factor = c.recipe.clip / (step.gradient_norm + 1e-6);
  EXPECT_EQ(step.clipped_gradients[2].values[7], step.gradients[2].values[7] * factor);
  EXPECT_NEAR(norm_of(step.parameters), step.parameter_norm, 1e-12);
}

TEST(Trainer, ClippedGradientsAreThoseOfTheUpdate) {
  const Case c = preset_case("tiny-dense");
  const StepResult step = train_alone(c).steps[0];
  const double gradient = step.clipped_gradients[2].values[7];
  EXPECT_DOUBLE_EQ(step.exp_avg[2].values[7], (1.0 - c.recipe.betas[0]) * gradient);
}

TEST(Trainer, NormsAndZerosAreThoseOfTheModelOnEveryLayoutAndRank) {
  Case c = preset_case("tiny-dense");
  const StepResult alone = train_alone(c).steps[1];
  EXPECT_GT(alone.gradient_zeros, 0) << "rows of ids that no sample has";
  c.layout.tp = 4;
  c.layout.sp = true;
  c.layout.dp = 3;
  for (const RankResult& rank : train_ranks(c)) {
    EXPECT_NEAR(rank.steps[1].gradient_norm, alone.gradient_norm, 1e-12);
    EXPECT_NEAR(rank.steps[1].parameter_norm, alone.parameter_norm, 1e-12);
    EXPECT_EQ(rank.steps[1].gradient_zeros, alone.gradient_zeros);
  }
}

TEST(Trainer, PaddedRowsGetNoGradient) {
  const RankResult result = train_alone(preset_case("tiny-linear"));
  for (const std::size_t parameter : {std::size_t{0}, std::size_t{8}}) {
    const std::vector<double>& gradient = result.steps[0].gradients[parameter].values;
    for (std::size_t i = 90 * 32; i < gradient.size(); ++i) EXPECT_EQ(gradient[i], 0.0);
  }
}

// Loss, gradients and moments are exactly 0, and each parameter is the last times `keep` of it.
void expect_only_decay(const RankResult& result, const ParameterTable& table, double keep) {
  for (const StepResult& step : result.steps) {
    EXPECT_EQ(step.loss, 0.0);
    EXPECT_EQ(step.gradient_norm, 0.0);
    for (const auto* shards :
         {&step.gradients, &step.clipped_gradients, &step.exp_avg, &step.exp_avg_sq}) {
      for (const Shard& shard : *shards) {
        for (const double value : shard.values) ASSERT_EQ(value, 0.0) << shard.name;
      }
    }
  }
  for (std::size_t p = 0; p < table.size(); ++p) {
    const double factor = table[p].full_shape.size() == 1 ? 1.0 : keep;
    const std::vector<double>& before = result.steps[0].parameters[p].values;
    const std::vector<double>& after = result.steps[1].parameters[p].values;
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_DOUBLE_EQ(after[i], before[i] * factor) << table[p].name;
    }
  }
}

TEST(Trainer, WithoutTargetsOnlyWeightDecayMovesParameters) {
  for (const LossNorm norm : {LossNorm::kToken, LossNorm::kMicroBatch}) {
    for (const bool sp : {false, true}) {
      Case c = preset_case("tiny-dense");
      c.layout.tp = 2;
      c.layout.sp = sp;
      c.layout.dp = 3;
      c.recipe.mask = Mask::kNone;
      c.recipe.loss_norm = norm;
      const double keep = 1.0 - c.recipe.lr * c.recipe.weight_decay;
      for (const RankResult& rank : train_ranks(c)) {
        expect_only_decay(rank, describe_model(c.model, c.layout), keep);
      }
    }
  }
}

TEST(Trainer, WithoutTargetsAndDecayNothingMoves) {
  Case c = preset_case("tiny-linear");
  c.recipe.mask = Mask::kNone;
  expect_only_decay(train_alone(c), describe_model(c.model, c.layout), 1.0);
}

}  // namespace
}  // namespace lockstep
