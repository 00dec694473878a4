// The loss check compares each rank's micro-batches and the global loss.
#include "simulator/checks/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_loss;
using sim::CheckResult;
using sim::CheckVerdict;

CheckResult run(const FakeTrial& fake) { return check_loss(fake.trial, fake.measured()); }

TEST(LossCheck, PassesAndCountsByTheLayout) {
  for (const FakeLayout layout : {FakeLayout{1, 1}, {2, 1}, {1, 3}, {2, 3}}) {
    const CheckResult result = run(make_trial(layout));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
    const std::int64_t world = layout.tp * layout.dp;
    EXPECT_EQ(result.expected, 2 * (12 * (3 * layout.tp - 1) + 2 * (2 * world - 1) + world));
    EXPECT_EQ(result.compared, result.expected);
  }
}

TEST(LossCheck, NamesMicroBatchRanksAndFactor) {
  FakeTrial fake = make_trial({2, 3});
  // dp rank 1 holds micro-batches 1, 4, 7, 10.
  fake.step(2, 0).losses[1].loss_sum *= 2.0;
  fake.step(3, 0).losses[1].loss_sum *= 2.0;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "micro-batch 4");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2, 3}));
  EXPECT_EQ(result.failures[0].hint, "x2 = tp");
  EXPECT_NEAR(result.failures[0].error, 1.0, 1e-12);
}

TEST(LossCheck, FindsRanksOfOneMicroBatchThatDisagreeByOneBit) {
  FakeTrial fake = make_trial({2, 1});
  double& loss = fake.step(1, 1).losses[5].loss_sum;
  loss = std::nextafter(loss, 100.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "micro-batch 5 across ranks (step 1)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1}));
  EXPECT_EQ(result.worst.where, result.failures[0].where);
}

TEST(LossCheck, TellsABitwiseFailureBeforeALargerErrorThatPasses) {
  FakeTrial fake = make_trial({2, 1});
  fake.oracle.steps[0].loss *= 1.0 + 1e-12;
  double& loss = fake.step(1, 0).losses[5].loss_sum;
  loss = std::nextafter(loss, 100.0);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.worst.where, "micro-batch 5 across ranks");
}

TEST(LossCheck, FindsAGlobalLossThatIsWrongOnOneRank) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(2, 0).loss /= 3.0;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 2U);
  EXPECT_EQ(result.failures[0].where, "global loss");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2}));
  EXPECT_EQ(result.failures[0].hint, "x0.333333 = 1/dp");
  EXPECT_EQ(result.failures[1].where, "global loss across ranks");
}

TEST(LossCheck, FindsAReportedLossThatIsWrongOnEveryRank) {
  FakeTrial fake = make_trial({1, 3});
  fake.on_all_ranks(0, [](StepResult& step) { step.reported_loss *= 3.0; });
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "reported loss");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(result.failures[0].hint, "x3 = dp");
}

TEST(LossCheck, HoldsTheReportedLossAgainstAllLossSumsOverAllTargets) {
  FakeTrial fake = make_trial({1, 1});
  const sim::OracleStep& step = fake.oracle.steps[0];
  double mean_of_means = 0.0;
  for (const double loss : step.micro_batch_losses) mean_of_means += loss / 12.0;
  ASSERT_GT(std::abs(mean_of_means - fake.step(0, 0).reported_loss), 1e-3);
  fake.step(0, 0).reported_loss = mean_of_means;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "reported loss");
}

TEST(LossCheck, FindsAReportedLossThatDiffersByOneBitOnOneRank) {
  FakeTrial fake = make_trial({1, 3});
  double& loss = fake.step(2, 1).reported_loss;
  loss = std::nextafter(loss, 100.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "reported loss across ranks (step 1)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 2}));
}

TEST(LossCheck, FindsAReportedNumberOfTargetsThatIsOffByOne) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(1, 0).reported_targets += 1;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "reported targets");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{1}));
  EXPECT_EQ(result.failures[0].error, 1.0);
  EXPECT_EQ(result.failures[0].bound, 0.0);
}

TEST(LossCheck, FindsAWrongNumberOfTargets) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(0, 0).losses[0].targets += 6;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 2U);
  EXPECT_EQ(result.failures[0].where, "micro-batch 0") << "its sum is divided by that number";
  EXPECT_EQ(result.failures[1].where, "micro-batch 0: 7 targets, expected 1");
  EXPECT_EQ(numbers_of(result.failures[1].ranks), (std::vector<int>{0}));
}

TEST(LossCheck, GivesNoRatioThatNoSizeExplains) {
  FakeTrial fake = make_trial({1, 1});
  fake.step(0, 0).loss *= 1.37;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].hint, "") << "any two numbers have a ratio";
}

TEST(LossCheck, TellsOnlyTheFirstStepThatFails) {
  FakeTrial fake = make_trial({1, 1});
  fake.step(0, 0).loss *= 2.0;
  fake.step(0, 1).loss *= 3.0;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "global loss");
  EXPECT_EQ(result.compared, result.expected);
}

TEST(LossCheck, FailsOnNaN) {
  FakeTrial fake = make_trial({1, 1});
  fake.step(0, 0).loss = std::numeric_limits<double>::quiet_NaN();
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_TRUE(std::isnan(result.failures[0].error));
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0}));
  EXPECT_EQ(result.failures[0].hint, "not finite");
}

TEST(LossCheck, HoldsALossOfZeroAgainstASmallScale) {
  FakeTrial fake = make_trial({1, 1});
  fake.oracle.steps[0].loss = 0.0;
  fake.step(0, 0).loss = 1e-14;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  fake.step(0, 0).loss = 1e-12;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(LossCheck, FailsWhereAMicroBatchIsMissing) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(1, 0).losses.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 2);
  EXPECT_EQ(result.reason, "rank 1 lacks micro-batch 10 at step 0");
}

TEST(LossCheck, FailsWhereAMicroBatchComesTwice) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(1, 0).losses.push_back(fake.step(1, 0).losses.back());
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 1 reports micro-batch 10 at step 0, where none is due");
}

TEST(LossCheck, FailsWhereARankRunsAMicroBatchBeyondTheGlobalBatch) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(1, 0).losses.push_back(fake.step(1, 0).losses.back());
  fake.step(1, 0).losses.back().global_micro_batch = 13;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 1 reports micro-batch 13 at step 0, where none is due");
}

TEST(LossCheck, FailsWhereTheReferenceHasOtherSteps) {
  FakeTrial fake = make_trial({1, 3});
  fake.oracle.steps.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "the reference has 1 steps, the case 2");
}

TEST(LossCheck, FailsWhereARankRunsTheMicroBatchOfAnother) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(1, 0).losses = fake.step(0, 0).losses;
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 1 reports micro-batch 0 at step 0, where 1 is due");
}

TEST(LossCheck, FailsWhereARankLacksAStep) {
  FakeTrial fake = make_trial({1, 3});
  fake.trial.ranks[0].steps.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 0 finished 1 of 2 steps");
  EXPECT_NE(result.compared, result.expected);
}

}  // namespace
}  // namespace lockstep::test
