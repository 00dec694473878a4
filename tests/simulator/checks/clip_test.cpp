// The clip check looks at gradients after clipping.
#include "simulator/checks/clip.h"

#include <gtest/gtest.h>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_clip;
using sim::CheckResult;
using sim::CheckVerdict;

CheckResult run(const FakeTrial& fake) { return check_clip(fake.trial, fake.measured()); }

TEST(ClipCheck, PassesAndCountsEachStepTensorAndRank) {
  const CheckResult result = run(make_trial({2, 3}, adamw_recipe()));
  EXPECT_EQ(result.check, "clip");
  EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
  EXPECT_EQ(result.compared, 2 * 4 * 6);
}

TEST(ClipCheck, PassesBelowF64) {
  for (const Precision precision : {Precision::kF32, Precision::kBF16}) {
    const CheckResult result = run(make_trial({2, 3}, adamw_recipe(precision)));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
  }
}

TEST(ClipCheck, DoesNotApplyWhereTheRecipeDoesNotClip) {
  const CheckResult result = run(make_trial({2, 3}));
  EXPECT_EQ(result.verdict, CheckVerdict::kNotApplicable);
  EXPECT_EQ(result.reason, "the recipe does not clip gradients");
}

TEST(ClipCheck, FindsTheOneTensorThatWasNotClipped) {
  FakeTrial fake = make_trial({2, 3}, adamw_recipe());
  fake.on_all_ranks(0, [](StepResult& step) {
    named(step.clipped_gradients, kFc1) = named(step.gradients, kFc1);
  });
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, kFc1);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(ClipCheck, FindsAnotherCoefficientOnOneRank) {
  FakeTrial fake = make_trial({2, 3}, adamw_recipe());
  for (Shard& shard : fake.step(4, 1).clipped_gradients) scale(shard.values, 1.0 + 1e-6);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 4U);
  for (const sim::Place& place : result.failures) {
    EXPECT_EQ(numbers_of(place.ranks), (std::vector<int>{4}));
  }
}

TEST(ClipCheck, FailsWhereNothingWasClippedAtAll) {
  FakeTrial fake = make_trial({1, 3}, adamw_recipe());
  for (int rank = 0; rank < 3; ++rank) fake.step(rank, 0).clipped_gradients.clear();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 3 * 4);
  EXPECT_EQ(result.reason, "rank 0 lacks " + std::string(kEmbedding));
}

TEST(ClipCheck, FailsWhereTheReferenceDidNotClip) {
  FakeTrial fake = make_trial({1, 3}, adamw_recipe());
  for (sim::OracleStep& step : fake.oracle.steps) step.clipped_gradients.clear();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "there was nothing to compare");
}

}  // namespace
}  // namespace lockstep::test
