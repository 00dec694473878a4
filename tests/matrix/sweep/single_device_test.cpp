// The single-device run is the case without what the reference does not depend on either.
#include "matrix/sweep/single_device.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/config/presets.h"
#include "matrix/reference/reference.h"
#include "matrix/sweep/own_steps.h"
#include "simulator/checks/block_error.h"

namespace lockstep::test {
namespace {

Case spread_case() {
  Case c = preset_case("tiny-dense");
  c.layout.tp = 2;
  c.layout.sp = true;
  c.layout.dp = 3;
  c.recipe.dtype = Precision::kBF16;
  c.recipe.overlap = {"grad"};
  c.recipe.step_api = StepApi::kSplit;
  c.recipe.bucket_elements = 1;
  c.recipe.reduction_order = ReductionOrder::kTree;
  c.recipe.completion = Completion::kLate;
  c.recipe.seed = 7;
  c.defects = {"B27-dp-reduction-missing"};
  return c;
}

TEST(SingleDevice, IsOffAsMuchAsItsPrecisionAndNotInF64) {
  Case c = spread_case();
  c.model.vocab_divisor = 128;
  const auto size_of = [&](Precision precision) {
    c.recipe.dtype = precision;
    const auto [off, mean] = matrix::single_device_differences(c, matrix::compute_reference(c));
    // In bf16 they share the rounding of the weights.
    if (precision == Precision::kF32) {
      EXPECT_LT(sim::norm_of_all(mean[1].gradients), 0.6 * sim::norm_of_all(off[1].gradients))
          << "draws have little in common";
    }
    EXPECT_EQ(off.size(), 2U);
    EXPECT_EQ(off[1].micro_batch_losses.size(), 12U);
    EXPECT_EQ(off[1].activations.size(), 12U);
    EXPECT_EQ(off[1].clipped_gradients.size(), off[1].gradients.size());
    const sim::OracleTensor& embedding = off[1].gradients.front();
    EXPECT_EQ(embedding.values.size(), 90U * 32U) << "padding stays out";
    return sim::norm_of_all(off[1].gradients);
  };
  EXPECT_LT(size_of(Precision::kF64), 1e-12);
  const double f32 = size_of(Precision::kF32);
  EXPECT_GT(f32, 1e-9);
  EXPECT_LT(f32, 1e-5);
  EXPECT_GT(size_of(Precision::kBF16), 1e3 * f32);
}

TEST(SingleDevice, IsNoTrialOfSeveralRanks) {
  const sim::TrialResult trial{
      .c = spread_case(), .ranks = std::vector<RankResult>(2), .cluster = {}, .digest = ""};
  EXPECT_THROW(matrix::differences(trial, {}), InternalError);
}

// AdamW turns the sign of a gradient near 0 into a whole step: what follows is right all the same.
TEST(OwnSteps, StartWhereTheRunStood) {
  Case c = on_single_device(spread_case());
  c.recipe.dtype = Precision::kF64;
  const sim::Oracle reference = matrix::compute_reference(c);
  sim::TrialResult trial = sim::run_trial(c, {});
  trial.ranks[0].steps[0].parameters[1].values[0] += 1e-3;
  const std::vector<sim::OracleStep> own = matrix::steps_from_own_masters(c, trial, reference);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[0].loss, reference.steps[0].loss);
  EXPECT_NE(own[1].loss, reference.steps[1].loss);
  std::vector<sim::OracleTensor> masters = reference.steps[0].parameters;
  masters[1].values[0] += 1e-3;
  EXPECT_NEAR(own[1].loss, matrix::compute_reference_step(c, 1, masters).loss, 1e-12);
  EXPECT_EQ(own[1].parameters[1].values, reference.steps[1].parameters[1].values);
}

TEST(OwnSteps, AreTheReferencesWhereMastersCannotBePutTogether) {
  const Case c = on_single_device(spread_case());
  const sim::Oracle reference = matrix::compute_reference(c);
  sim::TrialResult trial = sim::run_trial(c, {});
  trial.ranks[0].steps[0].masters.pop_back();
  const std::vector<sim::OracleStep> own = matrix::steps_from_own_masters(c, trial, reference);
  EXPECT_EQ(own[1].loss, reference.steps[1].loss);
}

}  // namespace
}  // namespace lockstep::test
