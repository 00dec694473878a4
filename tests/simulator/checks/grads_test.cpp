// The grads check passes on a flawless trial and finds every planted fault where it is.
#include "simulator/checks/grads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_grads;
using sim::CheckResult;
using sim::CheckVerdict;

CheckResult run(const FakeTrial& fake) { return check_grads(fake.trial, fake.measured()); }

TEST(GradsCheck, PassesForEveryLayoutAndCountsEachStepTensorAndRank) {
  for (const FakeLayout layout : {FakeLayout{1, 1}, {2, 1}, {1, 3}, {2, 3}, {8, 2}}) {
    const CheckResult result = run(make_trial(layout));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
    EXPECT_EQ(result.expected, 2 * 4 * layout.tp * layout.dp);
    EXPECT_EQ(result.compared, result.expected);
    EXPECT_EQ(result.worst.error, 0.0);
    EXPECT_EQ(result.worst.bound, 1e-10);
    EXPECT_TRUE(result.failures.empty());
  }
}

TEST(GradsCheck, TellsTheWorstPlaceEvenWhenItPasses) {
  FakeTrial fake = make_trial({2, 1});
  scale(fake.gradient(1, 1, kFc2).values, 1.0 + 1e-12);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kPass);
  EXPECT_EQ(result.worst.where, std::string(kFc2) + " (step 1)");
  EXPECT_GT(result.worst.error, 1e-13);
}

TEST(GradsCheck, NamesTensorRanksAndFactorOfAMissingSum) {
  FakeTrial fake = make_trial({2, 3});
  for (int rank = 0; rank < 6; ++rank) scale(fake.gradient(rank, 0, kNorm).values, 1.0 / 3.0);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, kNorm);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_NEAR(result.failures[0].error, 2.0 / 3.0, 1e-12);
  EXPECT_EQ(result.failures[0].hint, "x0.333333 = 1/dp");
  EXPECT_EQ(result.compared, result.expected);
}

TEST(GradsCheck, FindsTensorsByNameWhereARankListsThemInAnotherOrder) {
  FakeTrial fake = make_trial({2, 1});
  std::vector<Shard>& gradients = fake.step(1, 0).gradients;
  std::swap(gradients[0], gradients[2]);
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  scale(fake.gradient(1, 0, kFc1).values, 2.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U) << result.reason;
  EXPECT_EQ(result.failures[0].where, kFc1);
}

TEST(GradsCheck, GivesNoRatioOfASingleNumber) {
  FakeTrial fake = make_trial({1, 3});
  for (sim::OracleTensor& tensor : fake.oracle.steps[0].gradients) {
    if (tensor.name != kNorm) continue;
    for (std::size_t i = 1; i < tensor.values.size(); ++i) tensor.values[i] = 0.0;
    for (int rank = 0; rank < 3; ++rank) {
      fake.gradient(rank, 0, kNorm).values = tensor.values;
      scale(fake.gradient(rank, 0, kNorm).values, 3.0);
    }
  }
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].hint, "") << "any two numbers have a ratio";
}

TEST(GradsCheck, FindsAFaultOnOneReplicaOnly) {
  FakeTrial fake = make_trial({2, 3});
  scale(fake.gradient(3, 0, kFc2).values, 2.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, kFc2);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{3}));
  EXPECT_EQ(result.failures[0].hint, "x2 = tp");
}

// Cuts a gradient into uneven terms, one a dp rank, whose sum is right.
void leave_partial_over_dp(FakeTrial& fake, std::string_view name) {
  const double shares[] = {0.5, 0.75, -0.25};
  for (int rank = 0; rank < 6; ++rank) {
    std::vector<double>& values = fake.gradient(rank, 0, name).values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= shares[(static_cast<std::size_t>(rank) / 2 + i) % 3];
    }
  }
}

TEST(GradsCheck, NamesTheAxisOverWhichASumIsMissing) {
  FakeTrial fake = make_trial({2, 3});
  leave_partial_over_dp(fake, kFc2);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(result.failures[0].hint, "sum over dp = reference: not summed there");
}

TEST(GradsCheck, NamesCpWhereItsSumBecameAMean) {
  FakeTrial fake = make_trial({.dp = 3, .cp = 2});
  for (int rank = 0; rank < 6; ++rank) scale(fake.gradient(rank, 0, kFc1).values, 0.5);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].hint, "x0.5 = 1/cp");
}

TEST(GradsCheck, NamesEveryAxisOfTheSizeThatExplainsAFactor) {
  FakeTrial fake = make_trial({.tp = 2, .dp = 2, .cp = 2});
  for (int rank = 0; rank < 8; ++rank) scale(fake.gradient(rank, 0, kFc1).values, 0.5);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].hint, "x0.5 = 1/tp or 1/cp or 1/dp");
}

TEST(GradsCheck, NamesCpWhereGradientsWereNotSummedOverIt) {
  FakeTrial fake = make_trial({.tp = 2, .dp = 3, .cp = 2});
  const double shares[] = {0.25, 0.75};
  for (int rank = 0; rank < 12; ++rank) {
    const auto cp = static_cast<std::size_t>(rank / 2 % 2);
    std::vector<double>& values = fake.gradient(rank, 0, kFc1).values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= shares[(cp + i) % 2];
  }
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].hint, "sum over cp = reference: not summed there");
}

TEST(GradsCheck, NamesNoAxisWhereTheSumIsNotRightEither) {
  FakeTrial fake = make_trial({2, 3});
  leave_partial_over_dp(fake, kFc2);
  fake.gradient(5, 0, kFc2).values[3] += 1e-3;
  EXPECT_EQ(run(fake).failures.at(0).hint, "");
}

TEST(GradsCheck, NamesTheMissingSumBelowF64WithinTheBoundsOfTheCase) {
  for (const Precision precision : {Precision::kF32, Precision::kBF16}) {
    FakeTrial fake = make_trial({2, 3}, {.dtype = precision});
    leave_partial_over_dp(fake, kFc2);
    // What rounding does to each term, and then more than it does.
    for (int rank = 0; rank < 6; ++rank) {
      scale(fake.gradient(rank, 0, kFc2).values, 1.0 + 1e-7);
    }
    EXPECT_EQ(run(fake).failures.at(0).hint, "sum over dp = reference: not summed there");
    for (int rank = 0; rank < 6; ++rank) {
      scale(fake.gradient(rank, 0, kFc2).values, 1.0 + 1e-5);
    }
    EXPECT_EQ(run(fake).failures.at(0).hint, "");
  }
}

// With a single-device run as far off as bf16 is, thrice a third is the reference in its bounds.
void leave_mean_over_dp(FakeTrial& fake) {
  for (sim::OracleTensor& tensor : fake.oracle.single_device[0].gradients) {
    if (tensor.name == kFc2) std::fill(tensor.values.begin(), tensor.values.end(), 1e-2);
  }
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<double>& values = fake.gradient(rank, 0, kFc2).values;
    // Rounded element by element: no factor fits to the tolerance of f64.
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= (i % 2 == 0 ? 1.0 + 1e-4 : 1.0 - 1e-4) / 3.0;
    }
  }
}

TEST(GradsCheck, AMeanInPlaceOfASumIsNoMissingSumBelowF64Either) {
  FakeTrial fake = make_trial({1, 3}, {.dtype = Precision::kBF16});
  leave_mean_over_dp(fake);
  EXPECT_EQ(run(fake).failures.at(0).hint, "x0.33 = 1/dp");
  // The sum is right in the bounds all the same, and copies need not be equal to the bit.
  fake.gradient(1, 0, kFc2).values[0] *= 1.0 + 1e-6;
  EXPECT_EQ(run(fake).failures.at(0).hint, "x0.33 = 1/dp");
}

TEST(GradsCheck, AMeanOfTooFewElementsForARatioIsNoMissingSumEither) {
  FakeTrial fake = make_trial({1, 3}, {.dtype = Precision::kBF16});
  const std::size_t norm = 1;  // of 8 elements, of which half are 0
  ASSERT_EQ(fake.oracle.steps[0].gradients[norm].name, kNorm);
  std::vector<double>& right = fake.oracle.steps[0].gradients[norm].values;
  std::vector<double>& off = fake.oracle.single_device[0].gradients[norm].values;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (i % 2 == 0) right[i] = 0.0;
    off[i] = i % 2 == 0 ? 0.0 : 1e-3 * right[i];
    for (int rank = 0; rank < 3; ++rank) {
      fake.gradient(rank, 0, kNorm).values[i] = right[i] / 3.0 * (i % 4 == 1 ? 1.001 : 0.999);
    }
  }
  ASSERT_EQ(run(fake).worst.where, kNorm);
  EXPECT_EQ(run(fake).worst.hint, "") << "equal copies are no terms of a sum";
}

TEST(GradsCheck, TellsAPlaceThatNamesItsCauseBeforeALargerError) {
  FakeTrial fake = make_trial({2, 3});
  leave_partial_over_dp(fake, kFc2);
  fake.gradient(0, 0, kFc1).values[5] += 1000.0;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 2U);
  EXPECT_EQ(result.worst.where, kFc2);
  EXPECT_LT(result.failures[0].error, result.failures[1].error);
}

TEST(GradsCheck, ExplainsTheWorstBlockWhereNoRatioExplainsTheTensor) {
  FakeTrial fake = make_trial({1, 3});
  std::vector<double>& values = fake.gradient(2, 0, kFc1).values;
  for (std::size_t i = 64; i < 96; ++i) values[i] *= 3.0;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2}));
  EXPECT_EQ(result.failures[0].hint, "x3 = dp");
}

TEST(GradsCheck, FailsWhereErrorsOfTwoPartsOfABlockAddUpBeyondTheBound) {
  FakeTrial fake = make_trial({2, 1});
  double squares = 0.0;
  for (std::size_t i = 0; i < 32; ++i) {
    const double value = fake.oracle.steps[0].gradients[3].values[i];
    squares += value * value;
  }
  // Rank 0 holds columns 0 to 23 of the first row, rank 1 the others.
  fake.gradient(0, 0, kFc2).values[0] += 0.8e-10 * std::sqrt(squares);
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  fake.gradient(1, 0, kFc2).values[0] += 0.85e-10 * std::sqrt(squares);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{1}));
}

TEST(GradsCheck, GivesNoHintWhereNoRatioExplains) {
  FakeTrial fake = make_trial({1, 3});
  fake.gradient(0, 0, kFc1).values[5] += 1.0;
  EXPECT_EQ(run(fake).failures.at(0).hint, "");
}

TEST(GradsCheck, FailsOnNaN) {
  FakeTrial fake = make_trial({2, 1});
  fake.gradient(1, 0, kFc1).values[7] = std::numeric_limits<double>::quiet_NaN();
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_TRUE(std::isnan(result.failures[0].error));
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{1}));
  EXPECT_EQ(result.failures[0].hint, "not finite");
}

TEST(GradsCheck, KeepsANaNThatALaterReplicaDoesNotHave) {
  FakeTrial fake = make_trial({1, 3});
  fake.gradient(0, 0, kNorm).values[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(numbers_of(run(fake).failures.at(0).ranks), (std::vector<int>{0}));
}

TEST(GradsCheck, SaysThatAZeroGradientIsMissing) {
  FakeTrial fake = make_trial({1, 3});
  scale(fake.gradient(1, 0, kNorm).values, 0.0);
  EXPECT_EQ(run(fake).failures.at(0).hint, "x0 (missing)");
}

TEST(GradsCheck, TellsOnlyTheFirstFailingStep) {
  FakeTrial fake = make_trial({1, 3});
  scale(fake.gradient(0, 0, kNorm).values, 1.001);
  scale(fake.gradient(0, 1, kFc1).values, 5.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, kNorm);
  EXPECT_EQ(result.worst.where, kNorm);
  EXPECT_EQ(result.compared, result.expected);
}

TEST(GradsCheck, PutsTheWorstFailureFirst) {
  FakeTrial fake = make_trial({1, 3});
  scale(fake.gradient(0, 0, kEmbedding).values, 1.001);
  scale(fake.gradient(0, 0, kFc2).values, 5.0);
  scale(fake.gradient(0, 0, kFc1).values, 2.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 3U);
  EXPECT_EQ(result.failures[0].where, kFc2);
  EXPECT_EQ(result.failures[1].where, kFc1);
  EXPECT_EQ(result.failures[2].where, kEmbedding);
}

TEST(GradsCheck, FailsWhereARankLacksATensor) {
  FakeTrial fake = make_trial({2, 3});
  fake.step(5, 1).gradients.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 1);
  EXPECT_EQ(result.reason, "rank 5 lacks " + std::string(kFc2) + " (step 1)");
}

TEST(GradsCheck, FailsWhereARankLacksAStep) {
  FakeTrial fake = make_trial({1, 3});
  fake.trial.ranks[1].steps.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 4);
  EXPECT_EQ(result.reason, "rank 1 finished 1 of 2 steps");
}

TEST(GradsCheck, FailsWhereARankIsMissing) {
  FakeTrial fake = make_trial({1, 3});
  fake.trial.ranks.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 8);
  EXPECT_EQ(result.reason, "the trial has 2 ranks, its layout 3");
}

TEST(GradsCheck, FailsWhereARankHoldsATensorThatTheModelLacks) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(2, 0).gradients.push_back(fake.gradient(2, 0, kNorm));
  fake.step(2, 0).gradients.back().name = "decoder.surprise";
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 2 holds decoder.surprise, which the model does not have");
}

TEST(GradsCheck, FailsWhereNobodyHoldsSomeElements) {
  FakeTrial fake = make_trial({2, 1});
  fake.gradient(1, 0, kFc1).slices[0].runs[0].count -= 1;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason,
            std::string(kFc1) + ": no rank holds 8 of its elements, the first is 376");
}

TEST(GradsCheck, FailsWhereTheFullShapeIsNotTheReferences) {
  FakeTrial fake = make_trial({1, 1});
  Shard& shard = fake.gradient(0, 0, kNorm);
  shard.full_shape = shard.local_shape = {2, 4};
  EXPECT_EQ(run(fake).reason, std::string(kNorm) + ": another full shape than the reference's");
}

TEST(GradsCheck, HoldsLowerPrecisionsAgainstTheSingleDeviceRun) {
  for (const Precision precision : {Precision::kF32, Precision::kBF16}) {
    FakeTrial fake = make_trial({2, 3}, {.dtype = precision});
    // What rounding alone may do, to another extent in each block.
    for (int rank = 0; rank < 6; ++rank) {
      scale(fake.gradient(rank, 0, kFc2).values, 1.0 + 1e-7);
    }
    const CheckResult result = run(fake);
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason << result.worst.where;
    EXPECT_EQ(result.worst.where, kFc2);
    EXPECT_GT(result.worst.error, 5e-8);
    EXPECT_LT(result.worst.error, result.worst.bound);
    scale(fake.gradient(3, 0, kFc2).values, 1.0 + 1e-5);
    EXPECT_EQ(numbers_of(run(fake).failures.at(0).ranks), (std::vector<int>{3}));
  }
}

TEST(GradsCheck, FailsBelowF64WithoutASingleDeviceRun) {
  FakeTrial fake = make_trial({1, 1}, {.dtype = Precision::kF32});
  fake.oracle.single_device.clear();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "there is no single-device run to hold a precision below f64 against");
}

TEST(GradsCheck, FailsInF64WhereItIsHeldAgainstASingleDeviceRun) {
  FakeTrial fake = make_trial({1, 1});
  fake.oracle.single_device = fake.oracle.single_device_mean = fake.oracle.steps;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "a single-device run is no measure in f64");
}

}  // namespace
}  // namespace lockstep::test
