// The loss check adds up what context-parallel ranks report of their own tokens.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/checks/loss.h"
#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_loss;
using sim::CheckResult;
using sim::CheckVerdict;

CheckResult run(const FakeTrial& fake) { return check_loss(fake.trial, fake.measured()); }

MicroBatchLoss& micro_batch(FakeTrial& fake, int rank, std::size_t position) {
  return fake.step(rank, 0).losses.at(position);
}

TEST(LossCheckOverCp, PassesAndCountsByTheLayout) {
  for (const FakeLayout layout : {FakeLayout{.cp = 2}, {.dp = 3, .cp = 2}, {.tp = 2, .cp = 3}}) {
    const CheckResult result = run(make_trial(layout));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason << result.worst.where;
    const std::int64_t world = layout.tp * layout.cp * layout.dp;
    const std::int64_t of_micro_batch = 2 * layout.tp + 2 * layout.cp * (layout.tp - 1);
    EXPECT_EQ(result.expected, 2 * (12 * of_micro_batch + 2 * (2 * world - 1) + world));
    EXPECT_EQ(result.compared, result.expected);
  }
}

TEST(LossCheckOverCp, LeavesItToTheLayoutWhichRankHasHowMuchOfALoss) {
  FakeTrial fake = make_trial({.tp = 2, .cp = 2});
  for (const int tp : {0, 1}) {
    micro_batch(fake, tp, 4).loss_sum += 0.5;
    micro_batch(fake, 2 + tp, 4).loss_sum -= 0.5;
    micro_batch(fake, tp, 4).targets += 1;
    micro_batch(fake, 2 + tp, 4).targets -= 1;
  }
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
}

TEST(LossCheckOverCp, NamesTheGroupWhoseTermsDoNotAddUp) {
  FakeTrial fake = make_trial({.dp = 3, .cp = 2});
  micro_batch(fake, 3, 1).loss_sum *= 1.0 + 1e-8;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "micro-batch 4");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2, 3}));
}

TEST(LossCheckOverCp, NamesCpWhereEveryTermIsTheWholeSum) {
  FakeTrial fake = make_trial({.cp = 2});
  for (MicroBatchLoss& loss : fake.step(0, 0).losses) {
    MicroBatchLoss& other = micro_batch(fake, 1, static_cast<std::size_t>(loss.global_micro_batch));
    loss.loss_sum = other.loss_sum = loss.loss_sum + other.loss_sum;
  }
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 12U);
  for (const sim::Place& place : result.failures) {
    EXPECT_EQ(place.hint.rfind("x2 = cp", 0), 0U) << place.hint;
  }
}

TEST(LossCheckOverCp, FindsAWrongNumberOfTargetsOnOneRank) {
  FakeTrial fake = make_trial({.dp = 3, .cp = 2});
  micro_batch(fake, 1, 1).targets += 1;
  micro_batch(fake, 1, 1).loss_sum += 5.0 / 4.0 * micro_batch(fake, 0, 1).loss_sum;
  const CheckResult result = run(fake);
  ASSERT_GE(result.failures.size(), 1U);
  EXPECT_EQ(result.failures.back().where, "micro-batch 3: 5 targets, expected 4");
  EXPECT_EQ(numbers_of(result.failures.back().ranks), (std::vector<int>{0, 1}));
}

TEST(LossCheckOverCp, FindsTpReplicasThatDisagreeAboutTheirTermByOneBit) {
  FakeTrial fake = make_trial({.tp = 2, .cp = 2});
  double& sum = micro_batch(fake, 3, 7).loss_sum;
  sum = std::nextafter(sum, 100.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "micro-batch 7 across ranks");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2, 3}));
}

// Sums and counts over cp are right on each tp rank: only the terms differ.
TEST(LossCheckOverCp, FindsTpReplicasThatDisagreeAboutWhichTokensAreTheirs) {
  FakeTrial fake = make_trial({.tp = 2, .cp = 2});
  micro_batch(fake, 1, 4).targets -= 1;
  micro_batch(fake, 3, 4).targets += 1;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 2U);
  for (const sim::Place& place : result.failures) {
    EXPECT_EQ(place.where, "targets of micro-batch 4 across ranks");
  }
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1}));
  EXPECT_EQ(numbers_of(result.failures[1].ranks), (std::vector<int>{2, 3}));
}

TEST(LossCheckOverCp, FailsWhereOneRankOfAGroupLacksTheMicroBatch) {
  FakeTrial fake = make_trial({.dp = 3, .cp = 2});
  fake.step(3, 0).losses.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 2);
  EXPECT_EQ(result.reason, "rank 3 lacks micro-batch 10 at step 0");
}

TEST(LossCheckOverCp, NamesCpWhereTheReportedLossIsAMeanOverRanks) {
  FakeTrial fake = make_trial({.cp = 2});
  fake.on_all_ranks(0, [](StepResult& step) { step.reported_loss /= 2.0; });
  EXPECT_EQ(run(fake).failures.at(0).hint, "x0.5 = 1/cp");
}

TEST(LossCheckOverCp, FindsReportedTargetsThatWereNotAddedUpOverCp) {
  FakeTrial fake = make_trial({.cp = 2});
  for (int rank : {0, 1}) {
    std::int64_t own = 0;
    for (const MicroBatchLoss& loss : fake.step(rank, 0).losses) own += loss.targets;
    fake.step(rank, 0).reported_targets = own;
  }
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "reported targets");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace lockstep::test
