// The update check holds a run to its own gradients, however small the steps are.
#include "simulator/checks/update.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "simulator/checks/optimizer_arithmetic.h"
#include "simulator/checks/rounding.h"
#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_update;
using sim::CheckResult;
using sim::CheckVerdict;

constexpr Precision kPrecisions[] = {Precision::kF64, Precision::kF32, Precision::kBF16};

CheckResult run(const FakeTrial& fake) { return check_update(fake.trial, fake.measured()); }

// Puts the initial values back where the first update should have gone.
void forget_first_update(FakeTrial& fake, std::string_view name) {
  FakeRecipe frozen{.dtype = fake.trial.c.recipe.dtype, .lr = 0.0};
  FakeTrial before = make_trial({fake.trial.c.layout.tp, fake.trial.c.layout.dp}, frozen);
  for (std::size_t rank = 0; rank < fake.trial.ranks.size(); ++rank) {
    StepResult& step = fake.trial.ranks[rank].steps[0];
    StepResult& initial = before.trial.ranks[rank].steps[0];
    named(step.parameters, name) = named(initial.parameters, name);
    if (!step.masters.empty()) named(step.masters, name) = named(initial.masters, name);
  }
}

TEST(UpdateCheck, PassesAndCountsByOptimizerAndPrecision) {
  for (const FakeLayout layout : {FakeLayout{1, 1}, {2, 1}, {2, 3}, {8, 2}}) {
    const std::int64_t all = 2 * 4 * layout.tp * layout.dp;
    for (const Precision precision : kPrecisions) {
      const std::int64_t rounded = precision == Precision::kBF16 ? 1 : 0;
      const CheckResult sgd = run(make_trial(layout, {.dtype = precision}));
      EXPECT_EQ(sgd.verdict, CheckVerdict::kPass) << sgd.reason << sgd.worst.where;
      EXPECT_EQ(sgd.expected, (1 + rounded) * all);
      const CheckResult adamw = run(make_trial(layout, adamw_recipe(precision)));
      EXPECT_EQ(adamw.verdict, CheckVerdict::kPass) << adamw.reason << adamw.worst.where;
      EXPECT_EQ(adamw.expected, (3 + rounded) * all);
      EXPECT_EQ(adamw.compared, adamw.expected);
    }
  }
}

TEST(UpdateCheck, HoldsTheRunToItsOwnGradientsNotToTheReferences) {
  FakeTrial fake = make_trial({2, 1});
  for (sim::OracleStep& step : fake.oracle.steps) {
    for (sim::OracleTensor& tensor : step.gradients) scale(tensor.values, 3.0);
    for (sim::OracleTensor& tensor : step.parameters) scale(tensor.values, 3.0);
  }
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
}

TEST(UpdateCheck, FindsAnUpdateMissingOnOneParameterHoweverSmallTheStep) {
  for (const Precision precision : kPrecisions) {
    for (const double lr : {1e-3, 1e-12}) {
      FakeRecipe recipe = adamw_recipe(precision);
      recipe.lr = lr;
      for (const FakeRecipe& each : {recipe, FakeRecipe{.dtype = precision, .lr = lr}}) {
        FakeTrial fake = make_trial({2, 3}, each);
        forget_first_update(fake, kFc1);
        if (precision != Precision::kF64 && lr < 1e-9) {
          // Most elements are as they would be; the check goes by those that are not, if any.
          EXPECT_EQ(run(fake).compared, run(fake).expected);
          continue;
        }
        const CheckResult result = run(fake);
        ASSERT_EQ(result.failures.size(), 1U) << lr;
        EXPECT_EQ(result.failures[0].where.rfind(kFc1, 0), 0U) << result.failures[0].where;
        EXPECT_EQ(result.failures[0].hint, "not updated");
        EXPECT_EQ(result.failures[0].ranks.size(), 6U);
      }
    }
  }
}

TEST(UpdateCheck, FindsAnUpdateMissingWhereEveryElementWouldMoveByAnUlpOnly) {
  FakeTrial fake = make_trial({1, 1}, {.lr = 1e-16});
  const CheckResult clean = run(fake);
  ASSERT_EQ(clean.verdict, CheckVerdict::kPass);
  forget_first_update(fake, kFc2);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].hint, "not updated");
}

TEST(UpdateCheck, TakesNoUpdateForRightWhereTheArithmeticMovesNothing) {
  FakeTrial fake = make_trial({2, 1}, {.lr = 0.0});
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
}

TEST(UpdateCheck, FindsAnUpdateMissingOnOneRank) {
  FakeTrial fake = make_trial({2, 3});
  fake.parameter(3, 1, kFc2) = fake.parameter(3, 0, kFc2);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc2) + " (parameter) (step 1)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{3}));
}

TEST(UpdateCheck, FindsAFewUlpsOnOneElement) {
  for (const Precision precision : kPrecisions) {
    FakeTrial fake = make_trial({2, 3}, adamw_recipe(precision));
    StepResult& step = fake.step(2, 0);
    std::vector<Shard>& masters = step.masters.empty() ? step.parameters : step.masters;
    double& value = named(masters, kFc1).values[17];
    value *= 1.0 + 8.0 * sim::state_limits(precision).epsilon;
    const CheckResult result = run(fake);
    ASSERT_GE(result.failures.size(), 1U);
    EXPECT_EQ(result.failures[0].where.rfind(kFc1, 0), 0U);
    EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2}));
    EXPECT_GT(result.failures[0].error, result.failures[0].bound);
    EXPECT_LT(result.failures[0].bound, 3.0) << "in ulps";
  }
}

TEST(UpdateCheck, FindsMomentsThatWereNotUpdated) {
  for (const bool second : {false, true}) {
    FakeTrial fake = make_trial({2, 3}, adamw_recipe());
    for (RankResult& rank : fake.trial.ranks) {
      auto& from = second ? rank.steps[0].exp_avg_sq : rank.steps[0].exp_avg;
      auto& to = second ? rank.steps[1].exp_avg_sq : rank.steps[1].exp_avg;
      named(to, kNorm) = named(from, kNorm);
    }
    const CheckResult result = run(fake);
    ASSERT_EQ(result.failures.size(), 1U);
    EXPECT_EQ(result.failures[0].where,
              std::string(kNorm) + (second ? " (exp_avg_sq)" : " (exp_avg)") + " (step 1)");
  }
}

TEST(UpdateCheck, FindsASecondMomentWithoutTheSquare) {
  FakeTrial fake = make_trial({1, 1}, adamw_recipe());
  for (double& value : named(fake.step(0, 0).exp_avg_sq, kFc1).values) value = std::sqrt(value);
  EXPECT_EQ(run(fake).failures.at(0).where, std::string(kFc1) + " (exp_avg_sq)");
}

// Redoes the first update of a parameter as with another recipe, step or weight decay.
void redo_first_update(FakeTrial& fake,
                       std::string_view name,
                       double weight_decay,
                       std::int64_t step) {
  for (std::size_t i = 0; i < fake.oracle.initial_parameters.size(); ++i) {
    const sim::OracleTensor& initial = fake.oracle.initial_parameters[i];
    if (initial.name != name) continue;
    std::vector<double> master = initial.values;
    std::vector<double> exp_avg(master.size(), 0.0);
    std::vector<double> exp_avg_sq(master.size(), 0.0);
    sim::optimize(fake.trial.c.recipe,
                  weight_decay,
                  step,
                  {.gradient = fake.oracle.steps[0].clipped_gradients[i].values,
                   .master = master,
                   .exp_avg = exp_avg,
                   .exp_avg_sq = exp_avg_sq});
    fake.parameter(0, 0, name).values = master;
  }
}

TEST(UpdateCheck, FindsABiasThatIsDecayedAndAWeightThatIsNot) {
  FakeTrial fake = make_trial({1, 1}, adamw_recipe());
  redo_first_update(fake, kNorm, 0.1, 1);
  EXPECT_EQ(run(fake).failures.at(0).where, std::string(kNorm) + " (parameter)");
  EXPECT_EQ(run(fake).failures.at(0).hint, "as with weight decay");
  fake = make_trial({1, 1}, adamw_recipe());
  redo_first_update(fake, kFc1, 0.0, 1);
  EXPECT_EQ(run(fake).failures.at(0).where, std::string(kFc1) + " (parameter)");
  EXPECT_EQ(run(fake).failures.at(0).hint, "as without weight decay");
}

TEST(UpdateCheck, FindsAStepCountThatStartsFromTwo) {
  FakeTrial fake = make_trial({1, 1}, adamw_recipe());
  redo_first_update(fake, kFc2, 0.1, 1);
  ASSERT_EQ(run(fake).verdict, CheckVerdict::kPass) << "the right count gives what the run had";
  redo_first_update(fake, kFc2, 0.1, 2);
  EXPECT_EQ(run(fake).failures.at(0).where, std::string(kFc2) + " (parameter)");
}

TEST(UpdateCheck, FindsAnUpdateByGradientsThatWereNotClipped) {
  FakeTrial fake = make_trial({2, 1}, adamw_recipe());
  fake.on_all_ranks(0, [](StepResult& step) { step.clipped_gradients = step.gradients; });
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(UpdateCheck, FindsAParameterThatIsNotTheRoundedMaster) {
  FakeTrial fake = make_trial({2, 3}, adamw_recipe(Precision::kBF16));
  double& value = fake.parameter(5, 0, kFc1).values[3];
  value *= 1.0 + std::ldexp(1.0, -7);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc1) + " (parameter)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{5}));
  EXPECT_EQ(result.failures[0].hint, "not the master rounded to bf16");
  EXPECT_EQ(result.failures[0].bound, 0.0);
}

TEST(UpdateCheck, FindsAParameterThatWasTruncatedInsteadOfRounded) {
  FakeTrial fake = make_trial({1, 1}, adamw_recipe(Precision::kBF16));
  const std::vector<double>& masters = named(fake.step(0, 0).masters, kFc1).values;
  std::vector<double>& parameters = fake.parameter(0, 0, kFc1).values;
  for (std::size_t i = 0; i < masters.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(masters[i]));
    parameters[i] = static_cast<double>(std::bit_cast<float>(bits & 0xffff0000U));
  }
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(UpdateCheck, FailsOnNaN) {
  FakeTrial fake = make_trial({2, 1});
  fake.parameter(1, 0, kFc1).values[0] = std::numeric_limits<double>::quiet_NaN();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_TRUE(std::isnan(result.failures.at(0).error));
}

TEST(UpdateCheck, TellsAFiniteErrorWhereAMomentOfNothingIsSomething) {
  FakeTrial fake = make_trial({1, 1}, adamw_recipe(Precision::kF64));
  named(fake.step(0, 0).clipped_gradients, kFc1).values[3] = 0.0;
  named(fake.step(0, 0).exp_avg, kFc1).values[3] = 1e-3;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.worst.error, 1e99);
  named(fake.step(0, 0).exp_avg, kFc1).values[3] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isinf(run(fake).worst.error));
}

TEST(UpdateCheck, FailsWhereStateIsMissing) {
  FakeTrial fake = make_trial({2, 3}, adamw_recipe(Precision::kBF16));
  fake.step(4, 0).exp_avg.pop_back();
  CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 4 lacks " + std::string(kFc2));
  fake = make_trial({2, 3}, adamw_recipe(Precision::kBF16));
  for (int rank = 0; rank < 6; ++rank) fake.step(rank, 0).masters.clear();
  result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_LT(result.compared, result.expected);
}

TEST(UpdateCheck, FailsWhereStateIsHeldThatTheRecipeHasNot) {
  FakeTrial fake = make_trial({1, 1});
  fake.step(0, 1).exp_avg = fake.step(0, 1).parameters;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason,
            "rank 0 holds " + std::string(kEmbedding) +
                " (step 1) as exp_avg, of which this recipe has none");
}

TEST(UpdateCheck, FailsWithoutInitialParameters) {
  FakeTrial fake = make_trial({1, 1});
  fake.oracle.initial_parameters.clear();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "the reference has no initial " + std::string(kEmbedding));
}

TEST(UpdateCheck, FailsWhereNobodyHoldsSomeElements) {
  FakeTrial fake = make_trial({2, 1});
  named(fake.step(1, 0).gradients, kFc1).slices[0].runs[0].count -= 1;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason,
            std::string(kFc1) + " (gradient): no rank holds 8 of its elements, the first is 376");
}

}  // namespace
}  // namespace lockstep::test
