// Joining a sweep's verdict with the other backend's: when they agree, and what is said if not.
#include "matrix/confirm/confirmation.h"

#include <gtest/gtest.h>

#include "matrix/confirm/agreement.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::Confirmation;
using matrix::JoinedCase;
using matrix::Verdict;

CaseResult swept(Verdict verdict) {
  CaseResult result = sample_result("tp2.dp2", 1, verdict);
  if (verdict == Verdict::kPass) result.checks = {passed_check("grads", "weight", 1e-16)};
  if (verdict == Verdict::kFail) result.checks = {failed_check("grads", "weight", "x0.5 = 1/tp")};
  if (verdict == Verdict::kError) result.reason = "deadlock: rank 0 waits\nfor rank 1";
  return result;
}

sim::CheckResult agreed(double error) {
  sim::CheckResult check = passed_check(matrix::kAgreement, "gradient weight", error);
  check.worst.bound = matrix::agreement_bound("cpu");
  return check;
}

sim::CheckResult disagreed(double error) {
  sim::CheckResult check = agreed(error);
  check.verdict = sim::CheckVerdict::kFail;
  check.failures = {check.worst};
  return check;
}

// The same case on the other backend, which adds up in another order.
CaseResult confirmed(Verdict verdict, const sim::CheckResult& agreement) {
  CaseResult result = swept(verdict);
  result.comm = "gloo";
  result.simulated_digest = result.digest;
  result.digest = "ffffffffffffffff";
  result.checks.push_back(agreement);
  if (agreement.verdict == sim::CheckVerdict::kFail && verdict == Verdict::kPass) {
    result.verdict = Verdict::kFail;
  }
  return result;
}

TEST(Join, AgreesWhereVerdictsAndNumbersDo) {
  const JoinedCase joined =
      matrix::join(swept(Verdict::kPass), confirmed(Verdict::kPass, agreed(2e-16)));
  EXPECT_TRUE(joined.agrees);
  EXPECT_EQ(joined.name, "tp2.dp2");
  EXPECT_EQ(joined.simulated, Verdict::kPass);
  EXPECT_EQ(joined.confirmed, Verdict::kPass);
  ASSERT_TRUE(joined.difference.has_value());
  EXPECT_EQ(joined.difference->error, 2e-16);
  EXPECT_EQ(joined.reason, "");
  EXPECT_EQ(joined.note, "");
}

TEST(Join, AgreesWhereBothFailAlike) {
  const JoinedCase joined =
      matrix::join(swept(Verdict::kFail), confirmed(Verdict::kFail, agreed(2e-16)));
  EXPECT_TRUE(joined.agrees);
  EXPECT_EQ(joined.confirmed, Verdict::kFail);
  EXPECT_EQ(joined.note, "");
}

TEST(Join, TellsWhereBothFailButInAnotherPlace) {
  CaseResult other = confirmed(Verdict::kFail, agreed(2e-16));
  other.checks.front() = failed_check("grads", "bias", "");
  const JoinedCase joined = matrix::join(swept(Verdict::kFail), other);
  EXPECT_TRUE(joined.agrees);
  EXPECT_EQ(joined.note, "fail by grads at weight in the sweep, fail by grads at bias here");
}

TEST(Join, DisagreesWhereVerdictsDifferAndNamesBoth) {
  const JoinedCase joined =
      matrix::join(swept(Verdict::kPass), confirmed(Verdict::kFail, agreed(2e-16)));
  EXPECT_FALSE(joined.agrees);
  EXPECT_EQ(joined.reason, "pass in the sweep, fail by grads at weight over gloo");
}

TEST(Join, DisagreesWhereADefectGoesUnseen) {
  const JoinedCase joined =
      matrix::join(swept(Verdict::kFail), confirmed(Verdict::kPass, agreed(2e-16)));
  EXPECT_FALSE(joined.agrees);
  EXPECT_EQ(joined.reason, "fail by grads at weight in the sweep, pass over gloo");
}

TEST(Join, DisagreesWhereOnlyTheNumbersDoAndStillTellsTheVerdictOfTheSweepsChecks) {
  const JoinedCase joined =
      matrix::join(swept(Verdict::kPass), confirmed(Verdict::kPass, disagreed(3e-9)));
  EXPECT_FALSE(joined.agrees);
  EXPECT_EQ(joined.confirmed, Verdict::kPass);
  EXPECT_EQ(joined.reason, "differs by more than 1e-12");
  EXPECT_EQ(joined.difference->error, 3e-9);
}

TEST(Join, DisagreesWhereBothFailButWithOtherNumbers) {
  const JoinedCase joined =
      matrix::join(swept(Verdict::kFail), confirmed(Verdict::kFail, disagreed(0.5)));
  EXPECT_FALSE(joined.agrees);
  EXPECT_EQ(joined.reason, "differs by more than 1e-12");
}

TEST(Join, DisagreesWhereTheSweepsDigestIsOfAnotherBuild) {
  CaseResult earlier = swept(Verdict::kPass);
  earlier.digest = "0000000000000000";
  const JoinedCase joined = matrix::join(earlier, confirmed(Verdict::kPass, agreed(2e-16)));
  EXPECT_FALSE(joined.agrees);
  EXPECT_EQ(joined.reason,
            "the sweep's digest is 0000000000000000, this build gives 00112233445566ff");
}

TEST(Join, AgreesOnAnErrorOfTheSameKind) {
  sim::CheckResult same;
  same.check = matrix::kAgreement;
  same.reason = "the simulated trial ended in a deadlock, as the other one did";
  const JoinedCase joined = matrix::join(swept(Verdict::kError), confirmed(Verdict::kError, same));
  EXPECT_TRUE(joined.agrees);
  EXPECT_FALSE(joined.difference.has_value());
  EXPECT_EQ(joined.note, same.reason);
}

TEST(Join, DisagreesOnErrorsOfDifferentKinds) {
  sim::CheckResult other;
  other.check = matrix::kAgreement;
  other.verdict = sim::CheckVerdict::kFail;
  other.reason = "the simulated trial ended in a deadlock, the other one in a lost rank";
  const JoinedCase joined = matrix::join(swept(Verdict::kError), confirmed(Verdict::kError, other));
  EXPECT_FALSE(joined.agrees);
  EXPECT_EQ(joined.reason, other.reason);
}

TEST(Join, NeverAgreesOnACaseThatDidNotRun) {
  CaseResult lost = swept(Verdict::kError);
  lost.comm = "gloo";
  lost.reason = "the worker was lost: exited with code 3";
  const JoinedCase joined = matrix::join(swept(Verdict::kError), lost);
  EXPECT_FALSE(joined.agrees);
  EXPECT_EQ(joined.reason, "did not run over gloo: error: the worker was lost: exited with code 3");
}

TEST(Join, AgreesBelowF64WhateverTheFiniteDifference) {
  sim::CheckResult told = agreed(1e-5);
  told.verdict = sim::CheckVerdict::kNotApplicable;
  told.reason = "told, not judged";
  const JoinedCase joined = matrix::join(swept(Verdict::kPass), confirmed(Verdict::kPass, told));
  EXPECT_TRUE(joined.agrees);
  EXPECT_EQ(joined.difference->error, 1e-5);
  EXPECT_EQ(joined.note, "told, not judged");
}

TEST(ExitCode, SaysWhetherAllAgree) {
  Confirmation confirmation;
  EXPECT_EQ(matrix::exit_code_of(confirmation), 4);
  confirmation.cases = {{.name = "a", .agrees = true}};
  EXPECT_EQ(matrix::exit_code_of(confirmation), 0);
  confirmation.cases.push_back({.name = "b", .agrees = false});
  EXPECT_EQ(matrix::exit_code_of(confirmation), 1);
  confirmation.interrupted = true;
  EXPECT_EQ(matrix::exit_code_of(confirmation), 130);
}

}  // namespace
}  // namespace lockstep::test
