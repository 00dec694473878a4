// What results come to, whatever order they arrive in.
#include "matrix/sweep/tally.h"

#include <gtest/gtest.h>

#include <cmath>

#include "matrix/sweep/report_text.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::Tally;
using matrix::Verdict;

CaseResult failing(const std::string& name, const std::string& where) {
  CaseResult result = sample_result(name, 1, Verdict::kFail);
  result.checks = {passed_check("loss", "step 0", 1e-16),
                   failed_check("grads", where, "x2 = tp"),
                   failed_check("params", where, "")};
  return result;
}

TEST(Tally, KeepsTheWorstPlaceOfACheckEvenWhenAllPass) {
  Tally tally;
  for (std::size_t i = 0; i < 3; ++i) {
    CaseResult result = sample_result("case" + std::to_string(i), 1, Verdict::kPass);
    result.checks = {passed_check("grads", "w" + std::to_string(i), i == 1 ? 1e-13 : 1e-15)};
    tally.add(i, result);
  }
  ASSERT_EQ(tally.checks().size(), 1U);
  EXPECT_EQ(tally.checks()[0].worst.where, "w1");
  EXPECT_EQ(tally.checks()[0].worst_case.name, "case1");
  EXPECT_EQ(tally.checks()[0].num_passed, 3);
  EXPECT_EQ(tally.checks()[0].num_compared, 93);
}

TEST(Tally, TellsHowNearEachCheckCameToItsBoundOverCases) {
  Tally tally;
  for (std::size_t i = 0; i < 10; ++i) {
    CaseResult result = sample_result("case" + std::to_string(i), 1, Verdict::kPass);
    result.checks = {passed_check("grads", "w", i == 4 ? 2e-11 : 1e-15), sim::CheckResult()};
    tally.add(i, result);
  }
  const std::vector<matrix::CheckHeadroom> headroom = tally.counts().headroom;
  ASSERT_EQ(headroom.size(), 1U) << "what does not apply has none";
  EXPECT_EQ(headroom[0].check, "grads");
  EXPECT_LT(headroom[0].headroom.quantile(0.9), 1.2e-5);
  EXPECT_DOUBLE_EQ(headroom[0].headroom.largest(), 0.2);
}

TEST(Tally, HoldsNaNToBeWorseThanAnyNumber) {
  Tally tally;
  CaseResult result = sample_result("a", 1, Verdict::kFail);
  result.checks = {failed_check("grads", "nan", "")};
  result.checks[0].worst.error = std::nan("");
  tally.add(0, result);
  result.checks[0].worst = {
      .where = "large", .ranks = {}, .error = 1e300, .bound = 1e-10, .hint = ""};
  tally.add(1, result);
  EXPECT_EQ(tally.checks()[0].worst.where, "nan");
}

TEST(Tally, HoldsABrokenBoundToBeWorseThanALargerErrorWithinOne) {
  Tally tally;
  CaseResult result = sample_result("a", 1, Verdict::kPass);
  result.checks = {passed_check("loss", "kept", 1e-12)};
  tally.add(0, result);
  result.checks[0].worst = {.where = "broken", .ranks = {}, .error = 1e-16, .bound = 0, .hint = ""};
  tally.add(1, result);
  EXPECT_EQ(tally.checks()[0].worst.where, "broken");
}

TEST(Tally, NeverCountsNotApplicableAsAPass) {
  Tally tally;
  CaseResult result = sample_result("a", 1, Verdict::kPass);
  result.checks = {sim::CheckResult()};
  tally.add(0, result);
  EXPECT_EQ(tally.checks()[0].num_passed, 0);
  EXPECT_EQ(tally.checks()[0].num_not_applicable, 1);
}

TEST(Tally, GroupsFailingCasesByTheirFirstCause) {
  Tally tally;
  for (std::size_t i = 0; i < 6; ++i) tally.add(i, failing("q" + std::to_string(i), "q.weight"));
  tally.add(6, failing("k6", "k.weight"));
  const auto conditions = tally.conditions();
  ASSERT_EQ(conditions.size(), 2U);
  EXPECT_EQ(conditions[0].num_cases, 6);
  EXPECT_EQ(conditions[0].signature.check, "grads");
  EXPECT_EQ(conditions[0].signature.where, "q.weight");
  EXPECT_EQ(conditions[0].signature.hint, "x2 = tp");
  ASSERT_EQ(conditions[0].first_cases.size(), matrix::kMaxNamesShown);
  EXPECT_EQ(conditions[0].first_cases[0].name, "q0");
  EXPECT_EQ(conditions[1].first_cases[0].name, "k6");
}

std::vector<std::string> hints_of_conditions(const std::vector<std::string>& hints) {
  Tally tally;
  for (std::size_t i = 0; i < hints.size(); ++i) {
    CaseResult result = sample_result("c" + std::to_string(i), 1, Verdict::kFail);
    result.checks = {failed_check("grads", "w", hints[i])};
    tally.add(i, result);
  }
  std::vector<std::string> found;
  for (const auto& condition : tally.conditions()) found.push_back(condition.signature.hint);
  return found;
}

TEST(Tally, JoinsRatiosThatHaveOneCause) {
  EXPECT_EQ(hints_of_conditions({"x0.5 = 1/tp or 1/dp", "x0.25 = 1/tp", "x0.25 = 1/tp or dp"}),
            (std::vector<std::string>{"x0.25, x0.5 = 1/tp"}));
}

TEST(Tally, KeepsCausesApartThatNoHintShares) {
  EXPECT_EQ(hints_of_conditions({"x2 = tp", "x2 = tp", "x3 = dp"}),
            (std::vector<std::string>{"x2 = tp", "x3 = dp"}));
}

TEST(Tally, BelievesNoCauseThatFewCasesName) {
  EXPECT_EQ(hints_of_conditions({"x1.1", "x1.2", "x0.5 = 1/tp", "x1.3"}),
            std::vector<std::string>{""});
}

TEST(Tally, DropsRatiosThatNothingExplainsUnlessTheyAgree) {
  EXPECT_EQ(hints_of_conditions({"x1.1", "x1.2"}), std::vector<std::string>{""});
  EXPECT_EQ(hints_of_conditions({"x1.1", "x1.1"}), std::vector<std::string>{"x1.1"});
}

TEST(Signature, IsThatOfTheEarliestStep) {
  CaseResult result = sample_result("a", 1, Verdict::kFail);
  result.checks = {failed_check("loss", "micro-batch 3 (step 1)", ""),
                   failed_check("grads", "w", "x2 = dp")};
  EXPECT_EQ(matrix::signature_of(result).check, "grads");
}

TEST(Signature, NamesThePlaceThatItsCheckTellsFirstOfTheFirstFailingStep) {
  CaseResult result = sample_result("a", 1, Verdict::kFail);
  result.checks = {failed_check("grads", "a (step 1)", "")};
  for (const char* const where : {"z", "b"}) {
    result.checks[0].failures.push_back(result.checks[0].worst);
    result.checks[0].failures.back().where = where;
  }
  EXPECT_EQ(matrix::signature_of(result).where, "z");
}

TEST(Signature, TakesAHintApart) {
  const matrix::HintParts parts = matrix::hint_parts("x0.5 = 1/tp or tp/num_micro_batches");
  EXPECT_EQ(parts.ratio, "x0.5");
  EXPECT_EQ(parts.causes, (std::vector<std::string>{"1/tp", "tp/num_micro_batches"}));
  EXPECT_TRUE(matrix::hint_parts("x1.07").causes.empty());
  EXPECT_EQ(matrix::hint_parts("").ratio, "");
}

TEST(Tally, PutsCollectivesBeforeWhatTheyBreak) {
  CaseResult result = failing("a", "w");
  result.checks.push_back(failed_check("collectives", "finalize.dp_sum", ""));
  EXPECT_EQ(matrix::signature_of(result).check, "collectives");
}

TEST(Tally, GroupsErrorsByTheFirstLineOfTheirReason) {
  Tally tally;
  for (std::size_t i = 0; i < 2; ++i) {
    CaseResult result = sample_result("e" + std::to_string(i), 1, Verdict::kError);
    result.reason = "deadlock\nrank " + std::to_string(i);
    tally.add(i, result);
  }
  ASSERT_EQ(tally.conditions().size(), 1U);
  EXPECT_EQ(tally.conditions()[0].signature.reason, "deadlock");
}

TEST(Tally, IsTheSameInEveryOrderOfArrival) {
  const auto tell = [](const std::vector<std::size_t>& order) {
    matrix::SweepOutcome outcome;
    for (const std::size_t i : order) {
      outcome.tally.add(i, failing("c" + std::to_string(i), i % 3 == 0 ? "q" : "k"));
    }
    outcome.summary = outcome.tally.counts();
    return matrix::report_text(outcome, {});
  };
  std::vector<std::size_t> forward;
  for (std::size_t i = 0; i < 40; ++i) forward.push_back(i);
  EXPECT_EQ(tell(forward), tell({forward.rbegin(), forward.rend()}));
}

TEST(Tally, KeepsTheFirstCaseOfEachOfTheFirstKinds) {
  Tally tally;
  for (std::size_t i = 40; i-- > 0;) {
    tally.add(i, failing("c" + std::to_string(i), "w" + std::to_string(i / 4)));
  }
  const std::vector<matrix::FailingCase> first = tally.failing();
  ASSERT_EQ(first.size(), matrix::kMaxCasesShown);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].result.name, "c" + std::to_string(4 * i));
    EXPECT_EQ(first[i].num_alike, 3);
  }
  EXPECT_EQ(tally.num_signatures(), 10U);
  EXPECT_EQ(tally.num_bad(), 40);
}

TEST(Tally, CountsInvalidCasesByReason) {
  Tally tally;
  for (std::size_t i = 0; i < 3; ++i) {
    CaseResult result = sample_result("i" + std::to_string(i), 1, Verdict::kInvalid);
    result.reason = i == 0 ? "rare" : "common";
    tally.add(i, result);
  }
  const auto reasons = tally.reasons(Verdict::kInvalid);
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].first, "common");
  EXPECT_EQ(reasons[0].second, 2);
  EXPECT_EQ(tally.num_bad(), 0);
}

}  // namespace
}  // namespace lockstep::test
