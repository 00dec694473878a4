// The collectives check turns the cluster's findings into failures.
#include "simulator/checks/collectives.h"

#include <gtest/gtest.h>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_collectives;
using sim::CheckResult;
using sim::CheckVerdict;

TEST(CollectivesCheck, PassesWhereEveryCallMatched) {
  const FakeTrial fake = make_trial({2, 1});
  const CheckResult result = check_collectives(fake.trial, fake.measured());
  EXPECT_EQ(result.verdict, CheckVerdict::kPass);
  EXPECT_EQ(result.expected, 40);
  EXPECT_EQ(result.compared, 40);
}

TEST(CollectivesCheck, DoesNotApplyWithoutCalls) {
  const FakeTrial fake = make_trial({1, 1});
  const CheckResult result = check_collectives(fake.trial, fake.measured());
  EXPECT_EQ(result.verdict, CheckVerdict::kNotApplicable);
  EXPECT_FALSE(result.reason.empty());
}

TEST(CollectivesCheck, TellsEachFindingByItsFirstLineAndRanks) {
  FakeTrial fake = make_trial({2, 1});
  fake.trial.cluster.num_matched = 38;
  fake.trial.cluster.findings.push_back({.kind = backends::FindingKind::kDeadlock,
                                         .message = "rank 1 waits for rank 0\nmore about it",
                                         .ranks = {Rank{1}},
                                         .label = "finalize.dp_sum"});
  const CheckResult result = check_collectives(fake.trial, fake.measured());
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "rank 1 waits for rank 0");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{1}));
  EXPECT_EQ(result.reason, "rank 1 waits for rank 0");
}

TEST(CollectivesCheck, FailsOnAFindingBeforeAnyCall) {
  FakeTrial fake = make_trial({1, 1});
  fake.trial.cluster.findings.push_back({.kind = backends::FindingKind::kRankError,
                                         .message = "rank 0: out of range",
                                         .ranks = {Rank{0}},
                                         .label = ""});
  EXPECT_EQ(check_collectives(fake.trial, fake.measured()).verdict, CheckVerdict::kFail);
}

TEST(CollectivesCheck, FailsWhereACallWasNotMatched) {
  FakeTrial fake = make_trial({2, 1});
  fake.trial.cluster.num_matched = 39;
  const CheckResult result = check_collectives(fake.trial, fake.measured());
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "compared 39 of 40 expected");
}

}  // namespace
}  // namespace lockstep::test
