// Choosing cases to confirm: what fits, and the most telling first.
#include "matrix/confirm/choose.h"

#include <gtest/gtest.h>

#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::Choice;
using matrix::Verdict;
using Names = std::vector<std::string>;

CaseResult result_of(const std::string& name,
                     std::int64_t tp,
                     std::int64_t dp,
                     Verdict verdict = Verdict::kPass) {
  CaseResult result = sample_result(name, 1, verdict);
  result.c.layout.tp = tp;
  result.c.layout.dp = dp;
  return result;
}

std::optional<std::string> any(const Case&) { return std::nullopt; }

Names names_of(const std::vector<CaseResult>& results, const Choice& choice) {
  Names names;
  for (const std::size_t index : choice.chosen) names.push_back(results[index].name);
  return names;
}

TEST(Choose, TakesAllThatFitWithoutALimit) {
  const std::vector<CaseResult> results = {result_of("tp1", 1, 1), result_of("tp2", 2, 1)};
  const Choice choice = matrix::choose_cases(results, any, std::nullopt);
  EXPECT_EQ(choice.chosen.size(), 2U);
  EXPECT_EQ(choice.num_fit, 2U);
  EXPECT_TRUE(choice.left_out.empty());
}

TEST(Choose, TakesTheCaseThatShowsMostNewValuesNext) {
  const std::vector<CaseResult> results = {result_of("tp1.dp1", 1, 1),
                                           result_of("tp1.dp2", 1, 2),
                                           result_of("tp2.dp1", 2, 1),
                                           result_of("tp2.dp2", 2, 2)};
  // After the first, the one in which both degrees are new; one rank moves no data, and is last.
  const Choice choice = matrix::choose_cases(results, any, std::nullopt);
  EXPECT_EQ(names_of(results, choice), (Names{"tp1.dp2", "tp2.dp1", "tp2.dp2", "tp1.dp1"}));
}

TEST(Choose, TakesTheFirstOfThatOrderWithALimit) {
  const std::vector<CaseResult> results = {
      result_of("tp1.dp1", 1, 1), result_of("tp1.dp2", 1, 2), result_of("tp2.dp2", 2, 2)};
  const Choice choice = matrix::choose_cases(results, any, 2);
  EXPECT_EQ(names_of(results, choice), (Names{"tp1.dp2", "tp2.dp2"}));
  EXPECT_EQ(choice.num_fit, 3U);
}

TEST(Choose, CountsAValueAnewWithAnotherVerdict) {
  const std::vector<CaseResult> results = {result_of("a", 1, 2),
                                           result_of("b", 1, 3),
                                           result_of("c", 1, 2, Verdict::kFail),
                                           result_of("d", 1, 2, Verdict::kError)};
  EXPECT_EQ(names_of(results, matrix::choose_cases(results, any, 3)), (Names{"a", "c", "d"}));
}

TEST(Choose, CountsADefectAsAValue) {
  std::vector<CaseResult> results = {
      result_of("a", 1, 1), result_of("b", 1, 1), result_of("c", 1, 1)};
  results[2].c.defects = {"B01-split-step-skips-tp-sum"};
  EXPECT_EQ(names_of(results, matrix::choose_cases(results, any, 2)).front(), "c");
}

TEST(Choose, PrefersTheSmallerWorldAndThenTheName) {
  const std::vector<CaseResult> results = {
      result_of("b", 3, 1), result_of("a", 3, 1), result_of("z", 2, 1)};
  EXPECT_EQ(names_of(results, matrix::choose_cases(results, any, std::nullopt)),
            (Names{"z", "a", "b"}));
}

TEST(Choose, LeavesOutWhatTheOtherBackendCannotRunWithTheReasonAndItsCount) {
  const std::vector<CaseResult> results = {
      result_of("small", 1, 1), result_of("large", 4, 2), result_of("larger", 4, 3)};
  const auto why_not = [](const Case& c) -> std::optional<std::string> {
    if (c.layout.tp > 2) return "too large";
    return std::nullopt;
  };
  const Choice choice = matrix::choose_cases(results, why_not, std::nullopt);
  EXPECT_EQ(names_of(results, choice), Names{"small"});
  ASSERT_EQ(choice.left_out.size(), 1U);
  EXPECT_EQ(choice.left_out[0].reason, "too large");
  EXPECT_EQ(choice.left_out[0].num_cases, 2);
}

TEST(Choose, LeavesOutWhatNeverCameToAVerdict) {
  std::vector<CaseResult> results = {result_of("invalid", 1, 1, Verdict::kInvalid),
                                     result_of("late", 1, 1, Verdict::kTimeout),
                                     result_of("skipped", 1, 1, Verdict::kSkipped),
                                     result_of("crashed", 1, 1, Verdict::kError),
                                     result_of("deadlocked", 1, 1, Verdict::kError)};
  results[3].digest.clear();
  const Choice choice = matrix::choose_cases(results, any, std::nullopt);
  EXPECT_EQ(names_of(results, choice), Names{"deadlocked"});
  EXPECT_EQ(choice.left_out.size(), 4U);
}

TEST(Choose, TellsTheCommonestReasonFirst) {
  const std::vector<CaseResult> results = {result_of("a", 1, 1, Verdict::kTimeout),
                                           result_of("b", 1, 1, Verdict::kInvalid),
                                           result_of("c", 1, 1, Verdict::kTimeout)};
  const Choice choice = matrix::choose_cases(results, any, std::nullopt);
  ASSERT_EQ(choice.left_out.size(), 2U);
  EXPECT_EQ(choice.left_out[0].num_cases, 2);
  EXPECT_EQ(choice.left_out[0].reason, "the sweep ran out of time");
}

}  // namespace
}  // namespace lockstep::test
