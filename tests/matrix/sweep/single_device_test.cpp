// The single-device run is the case without what the reference does not depend on either.
#include "matrix/sweep/single_device.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/config/presets.h"
#include "core/config/rules.h"

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

TEST(SingleDevice, RunsTheSameReferenceOnOneRankWithoutDefects) {
  const Case c = spread_case();
  const Case single = matrix::on_single_device(c);
  EXPECT_EQ(world_size(single.layout), 1);
  EXPECT_FALSE(single.layout.sp);
  EXPECT_TRUE(single.defects.empty());
  EXPECT_TRUE(single.recipe.overlap.empty());
  EXPECT_EQ(single.recipe.step_api, StepApi::kFused);
  EXPECT_EQ(single.recipe.dtype, Precision::kBF16);
  EXPECT_EQ(reference_key(single), reference_key(c));
  EXPECT_EQ(why_invalid(single), std::nullopt);
}

TEST(SingleDevice, IsTheSameForAllCasesOfOneReference) {
  Case other = spread_case();
  other.layout.tp = 8;
  other.layout.dp = 1;
  other.recipe.overlap.clear();
  other.recipe.schedule_seed = 99;
  ASSERT_EQ(reference_key(other), reference_key(spread_case()));
  EXPECT_EQ(case_to_json(matrix::on_single_device(other)),
            case_to_json(matrix::on_single_device(spread_case())));
}

TEST(SingleDevice, HasTheStepsOfAnOracleInFull) {
  Case c = spread_case();
  c.model.vocab_divisor = 128;
  const std::vector<sim::OracleStep> steps = matrix::run_on_single_device(c);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].micro_batch_losses.size(), 12U);
  EXPECT_EQ(steps[0].activations.size(), 12U);
  EXPECT_EQ(steps[0].gradients.size(), steps[0].parameters.size());
  EXPECT_EQ(steps[0].clipped_gradients.size(), steps[0].gradients.size());
  EXPECT_GT(steps[0].gradient_norm, 0.0);
  const sim::OracleTensor& embedding = steps[0].gradients.front();
  EXPECT_EQ(embedding.shape, (std::vector<std::int64_t>{90, 32}));
  EXPECT_EQ(embedding.values.size(), 90U * 32U) << "padding stays out";
}

TEST(SingleDevice, TakesMastersForParametersWhereThereAreAny) {
  const std::vector<sim::OracleStep> steps = matrix::run_on_single_device(spread_case());
  bool any_needs_f32 = false;
  for (const double value : steps[0].parameters.front().values) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    any_needs_f32 = any_needs_f32 || (bits & 0xffffU) != 0;
  }
  EXPECT_TRUE(any_needs_f32);
}

TEST(SingleDevice, IsNoTrialOfSeveralRanks) {
  const sim::TrialResult trial{
      .c = spread_case(), .ranks = std::vector<RankResult>(2), .cluster = {}, .digest = ""};
  EXPECT_THROW(matrix::oracle_steps_of(trial), InternalError);
}

}  // namespace
}  // namespace lockstep::test
