// The replicas check compares bits, and counts by the layout.
#include "simulator/checks/replicas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_replicas;
using sim::CheckResult;
using sim::CheckVerdict;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

CheckResult run(const FakeTrial& fake) { return check_replicas(fake.trial, fake.measured()); }

TEST(ReplicasCheck, PassesAndCountsByTheLayout) {
  for (const FakeLayout layout :
       {FakeLayout{2, 1}, {1, 3}, {2, 3}, {8, 2}, {.cp = 2}, {.tp = 2, .dp = 3, .cp = 2}}) {
    const CheckResult result = run(make_trial(layout));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
    const std::int64_t copies = layout.cp * layout.dp;
    const std::int64_t world = layout.tp * copies;
    const std::int64_t cut = layout.tp == 1 ? world - 1 : layout.tp * (copies - 1);
    // Steps, gradients and parameters, one tensor on all ranks and three that tp cuts.
    EXPECT_EQ(result.expected, 2 * 2 * (world - 1 + 3 * cut));
    EXPECT_EQ(result.compared, result.expected);
  }
}

TEST(ReplicasCheck, DoesNotApplyToASingleRank) {
  const CheckResult result = run(make_trial({1, 1}));
  EXPECT_EQ(result.verdict, CheckVerdict::kNotApplicable);
  EXPECT_EQ(result.expected, 0);
  EXPECT_FALSE(result.reason.empty());
}

TEST(ReplicasCheck, NamesTheRankThatDiffersByOneBit) {
  FakeTrial fake = make_trial({2, 3});
  double& value = fake.gradient(3, 0, kFc1).values[11];
  value = std::nextafter(value, 10.0);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc1) + " (gradient)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{3}));
  EXPECT_EQ(result.failures[0].bound, 0.0);
  EXPECT_GT(result.failures[0].error, 0.0);
}

TEST(ReplicasCheck, FindsACpRankWhoseParametersDiffer) {
  FakeTrial fake = make_trial({.tp = 2, .cp = 3});
  double& value = fake.parameter(5, 0, kFc2).values[3];
  value = std::nextafter(value, 10.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc2) + " (parameter)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{5}));
}

TEST(ReplicasCheck, NamesAllRanksWhereNoMajorityAgrees) {
  FakeTrial fake = make_trial({2, 1});
  scale(fake.gradient(1, 0, kNorm).values, 0.5);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1}));
  EXPECT_EQ(result.failures[0].hint, "x0.5 = 1/tp");
}

TEST(ReplicasCheck, FindsAParameterThatDrifts) {
  FakeTrial fake = make_trial({1, 3});
  fake.parameter(0, 1, kFc2).values[0] += 1.0;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc2) + " (parameter) (step 1)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0}));
}

TEST(ReplicasCheck, TellsGradientsBeforeTheParametersThatFollowFromThem) {
  FakeTrial fake = make_trial({1, 3});
  fake.gradient(1, 0, kFc2).values[0] += 1.0;
  fake.parameter(1, 0, kFc2).values[0] += 2.0;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc2) + " (gradient)");
}

TEST(ReplicasCheck, TellsZeroesOfUnlikeSignApart) {
  FakeTrial fake = make_trial({1, 3});
  for (int rank = 0; rank < 3; ++rank) fake.gradient(rank, 0, kNorm).values[0] = 0.0;
  fake.gradient(2, 0, kNorm).values[0] = -0.0;
  EXPECT_EQ(numbers_of(run(fake).failures.at(0).ranks), (std::vector<int>{2}));
}

TEST(ReplicasCheck, TakesEqualNaNsForEqualAndNaNOnOneRankForADifference) {
  FakeTrial fake = make_trial({1, 3});
  for (int rank = 0; rank < 3; ++rank) fake.gradient(rank, 0, kNorm).values[0] = kNaN;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  fake.gradient(1, 0, kNorm).values[1] = kNaN;
  const CheckResult result = run(fake);
  EXPECT_EQ(numbers_of(result.failures.at(0).ranks), (std::vector<int>{1}));
  EXPECT_TRUE(std::isnan(result.failures[0].error));
}

TEST(ReplicasCheck, DoesNotLookAtPaddedRows) {
  FakeTrial fake = make_trial({8, 2});
  fake.gradient(7, 0, kEmbedding).values[0] = 5.0;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
}

TEST(ReplicasCheck, ComparesElementsWhereReplicasLayThemOutUnlike) {
  FakeTrial fake = make_trial({1, 3});
  Shard& shard = fake.gradient(1, 0, kNorm);
  std::swap(shard.values[0], shard.values[1]);
  shard.slices = {{.dim = 0,
                   .runs = {{.local = 1, .global = 0, .count = 1},
                            {.local = 0, .global = 1, .count = 1},
                            {.local = 2, .global = 2, .count = 6}}}};
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  // Now the bytes are equal, and the elements are not.
  std::swap(shard.values[0], shard.values[1]);
  EXPECT_EQ(numbers_of(run(fake).failures.at(0).ranks), (std::vector<int>{1}));
}

TEST(ReplicasCheck, FailsWhereARankHoldsThePartOfAnother) {
  FakeTrial fake = make_trial({2, 3});
  fake.gradient(2, 0, kFc1) = fake.gradient(1, 0, kFc1);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(
      result.reason,
      std::string(kFc1) + " (gradient): 2 ranks hold the part of rank 0, expected a multiple of 3");
}

TEST(ReplicasCheck, FailsWherePartsOverlapWithoutBeingEqual) {
  FakeTrial fake = make_trial({2, 1});
  fake.gradient(1, 0, kNorm).slices = {{.dim = 0, .runs = {{.count = 7}}}};
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason,
            std::string(kNorm) + " (gradient): its parts have 15 elements together, the tensor 8");
}

TEST(ReplicasCheck, FailsWhereTheShapesOfARankDoNotFitTogether) {
  FakeTrial fake = make_trial({2, 1});
  fake.gradient(1, 0, kNorm).values.pop_back();
  EXPECT_EQ(run(fake).reason,
            std::string(kNorm) + ": rank 1: the number of values is not that of the local shape");
}

TEST(ReplicasCheck, FailsWhereARankOfAGroupLacksTheTensor) {
  FakeTrial fake = make_trial({2, 3});
  fake.step(4, 0).parameters.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 1);
  EXPECT_EQ(result.reason, "rank 4 lacks " + std::string(kFc2));
}

TEST(ReplicasCheck, FailsWhereNoRankGotAnywhere) {
  FakeTrial fake = make_trial({2, 1});
  for (RankResult& rank : fake.trial.ranks) rank.steps.clear();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, 0);
  EXPECT_GT(result.expected, 0);
}

}  // namespace
}  // namespace lockstep::test
