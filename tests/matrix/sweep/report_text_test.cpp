// The words of the report and of the progress.
#include "matrix/sweep/report_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::SweepOutcome;
using matrix::Verdict;

SweepOutcome outcome_with_failures() {
  SweepOutcome outcome;
  for (std::size_t i = 0; i < 20; ++i) {
    matrix::CaseResult result = sample_result("tp2.dp" + std::to_string(i), 1, Verdict::kFail);
    result.checks = {passed_check("loss", "step 0", 1e-16),
                     failed_check("grads", "output_layer.weight", "x0.5 = 1/tp")};
    outcome.tally.add(i, result);
  }
  matrix::CaseResult invalid = sample_result("tp7", 1, Verdict::kInvalid);
  invalid.reason = "intermediate_size 48 is not divisible by tp 7";
  outcome.tally.add(20, invalid);
  outcome.summary = outcome.tally.counts();
  outcome.summary.name = "linear";
  outcome.summary.seconds = 2.0;
  outcome.summary.cases_per_second = 1234.4;
  outcome.num_workers = 2;
  return outcome;
}

TEST(Report, TellsConditionsBeforeCases) {
  const std::string text = matrix::report_text(
      outcome_with_failures(), {.color = false, .results_path = "out", .replay_command = "again"});
  const std::size_t condition = text.find("     20  grads at output_layer.weight, x0.5 = 1/tp");
  const std::size_t first_case = text.find("cases, the first of each kind:");
  ASSERT_NE(condition, std::string::npos) << text;
  ASSERT_NE(first_case, std::string::npos) << text;
  EXPECT_LT(condition, first_case);
  EXPECT_NE(text.find("fail  tp2.dp0, and 19 more alike\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("fail  tp2.dp1"), std::string::npos) << text;
  EXPECT_NE(text.find("tp2.dp0, tp2.dp1, tp2.dp2, tp2.dp3 and 16 more"), std::string::npos);
  EXPECT_NE(text.find("results  out\nreplay   again\n"), std::string::npos);
}

TEST(Report, TellsWhyCasesWereSkipped) {
  matrix::CaseResult skipped = sample_result("tree", 1, Verdict::kSkipped);
  skipped.reason = "the order of sums is Gloo's own";
  SweepOutcome outcome = outcome_with_failures();
  EXPECT_EQ(matrix::report_text(outcome, {}).find("skipped, by reason"), std::string::npos);
  outcome.tally.add(21, skipped);
  EXPECT_NE(matrix::report_text(outcome, {})
                .find("skipped, by reason:\n        1  the order of sums is Gloo's own\n"),
            std::string::npos);
}

TEST(Report, NamesTheOtherPlacesOfACaseAsFarAsALineHolds) {
  matrix::CaseResult result = sample_result("a", 1, Verdict::kFail);
  result.checks = {failed_check("grads", "first", "")};
  for (const std::string& where :
       {std::string("second"), std::string("third"), std::string(90, 'x')}) {
    result.checks[0].failures.push_back(result.checks[0].worst);
    result.checks[0].failures.back().where = where;
  }
  SweepOutcome outcome;
  outcome.tally.add(0, result);
  outcome.summary = outcome.tally.counts();
  const std::string text = matrix::report_text(outcome, {});
  EXPECT_NE(text.find("           and at second, third and 1 more\n"), std::string::npos) << text;
}

TEST(Report, StaysNearFortyLinesHoweverMuchFails) {
  SweepOutcome outcome;
  for (std::size_t i = 0; i < 200; ++i) {
    matrix::CaseResult result = sample_result("c" + std::to_string(i), 1, Verdict::kFail);
    if (i % 2 == 0) {
      result.checks = {failed_check("grads", "weight " + std::to_string(i), "x2 = dp")};
    } else {
      result.verdict = Verdict::kError;
      result.reason = "deadlock " + std::to_string(i);
      for (std::size_t rank = 0; rank < 64; ++rank) result.reason += "\nrank waits";
    }
    outcome.tally.add(i, result);
    matrix::CaseResult invalid = sample_result("i" + std::to_string(i), 1, Verdict::kInvalid);
    invalid.reason = "reason " + std::to_string(i);
    outcome.tally.add(200 + i, invalid);
  }
  outcome.summary = outcome.tally.counts();
  const std::string text = matrix::report_text(outcome, {});
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 60) << text;
  EXPECT_NE(text.find("and 194 more kinds; every case is in the results"), std::string::npos);
}

TEST(Report, TellsRateWorstErrorsAndInvalidReasons) {
  const std::string text = matrix::report_text(outcome_with_failures(), {});
  EXPECT_NE(text.find("linear: 21 cases in 2.0 s, 1,234 cases/s on 2 workers"), std::string::npos);
  EXPECT_NE(text.find("   1e-16    1e-10 1e-06 1e-06 1e-06 1e-06\n      step 0 in tp2.dp0\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1  intermediate_size 48 is not divisible by tp 7"), std::string::npos);
}

SweepOutcome outcome_of_a_million() {
  SweepOutcome outcome;
  matrix::CaseResult result = sample_result("a", 1, Verdict::kPass);
  result.checks = {passed_check("activations", "w", 3.47e-12), passed_check("replicas", "w", 0.0)};
  for (sim::CheckResult& check : result.checks) check.compared = 1'234'567'890;
  result.checks[1].worst.bound = 0.0;
  outcome.tally.add(0, result);
  outcome.summary = outcome.tally.counts();
  return outcome;
}

TEST(Report, TellsTheDistributionOfErrorsWithinAHundredColumns) {
  const std::string text = matrix::report_text(outcome_of_a_million(), {});
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_NE(text.find("    bound  50 %  90 %  99 %   all\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    1e-10 0.035 0.035 0.035 0.035\n"), std::string::npos) << text;
}

TEST(Report, TellsNoDistributionOfAnExactCheck) {
  const std::string text = matrix::report_text(outcome_of_a_million(), {});
  EXPECT_NE(text.find("           0    exact\n"), std::string::npos) << text;
}

TEST(Report, HasNoEscapesUnlessColorIsAskedFor) {
  EXPECT_EQ(matrix::report_text(outcome_with_failures(), {}).find('\x1b'), std::string::npos);
  EXPECT_NE(matrix::report_text(outcome_with_failures(),
                                {.color = true, .results_path = "", .replay_command = ""})
                .find('\x1b'),
            std::string::npos);
}

TEST(Report, GroupsDigitsByThree) {
  EXPECT_EQ(matrix::with_commas(0), "0");
  EXPECT_EQ(matrix::with_commas(999), "999");
  EXPECT_EQ(matrix::with_commas(1000), "1,000");
  EXPECT_EQ(matrix::with_commas(1234567), "1,234,567");
  EXPECT_EQ(matrix::with_commas(-123456), "-123,456");
}

TEST(ExitCode, FollowsTheWorstThatHappened) {
  SweepOutcome outcome;
  EXPECT_EQ(matrix::exit_code_of(outcome), 4);
  outcome.summary.count(Verdict::kInvalid) = 2;
  EXPECT_EQ(matrix::exit_code_of(outcome), 4);
  outcome.summary.count(Verdict::kPass) = 1;
  EXPECT_EQ(matrix::exit_code_of(outcome), 0);
  for (const Verdict verdict : {Verdict::kFail, Verdict::kError, Verdict::kTimeout}) {
    SweepOutcome bad = outcome;
    bad.summary.count(verdict) = 1;
    EXPECT_EQ(matrix::exit_code_of(bad), 1);
  }
  outcome.interrupted = true;
  EXPECT_EQ(matrix::exit_code_of(outcome), 130);
}

TEST(Progress, DrawsABarWithRateAndTimeLeft) {
  const matrix::ProgressState state{
      .num_done = 50, .num_cases = 100, .num_bad = 2, .seconds = 5.0, .cases_per_second = 10.0};
  EXPECT_EQ(matrix::progress_bar(state),
            "[===============>              ] 50/100  50%  10 cases/s  5 s left  2 failed");
  EXPECT_EQ(matrix::progress_line(state), "50 of 100 cases, 10 cases/s, 2 failed");
}

TEST(Progress, CallsWhatRunsAndWhatFailsByTheWordsItWasGiven) {
  const matrix::ProgressState state{.num_done = 3,
                                    .num_cases = 4,
                                    .num_bad = 2,
                                    .word_for_bad = "caught",
                                    .word_for_cases = "runs"};
  EXPECT_EQ(matrix::progress_line(state), "3 of 4 runs, 0 runs/s, 2 caught");
  EXPECT_EQ(matrix::progress_bar(state),
            "[======================>       ] 3/4  75%  0 runs/s  2 caught");
}

TEST(Progress, SpeaksSeldomWhereThereIsNoTerminal) {
  const TemporaryFolder folder;
  std::FILE* file = std::fopen(folder.file("log").c_str(), "w");
  matrix::Progress progress(file, matrix::Progress::Style::kLines);
  matrix::ProgressState state{
      .num_done = 0, .num_cases = 1000, .num_bad = 0, .seconds = 0.0, .cases_per_second = 10.0};
  for (std::size_t i = 0; i < 120; ++i) {
    state.seconds = static_cast<double>(i) * 0.1;
    progress.update(state);
  }
  progress.finish(state);
  std::fclose(file);
  std::istringstream lines(read_text(folder.file("log")));
  std::string line;
  int num_lines = 0;
  while (std::getline(lines, line)) ++num_lines;
  EXPECT_EQ(num_lines, 3);  // at 2 s, at 7 s, and the last
}

TEST(Progress, IsNoErrorWhereNobodyCanBeTold) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  for (const auto style : {matrix::Progress::Style::kBar, matrix::Progress::Style::kLines}) {
    matrix::Progress progress(full, style);
    EXPECT_NO_THROW(progress.update({.num_done = 1, .num_cases = 2, .seconds = 60.0}));
    EXPECT_NO_THROW(progress.finish({.num_done = 2, .num_cases = 2, .seconds = 61.0}));
  }
  std::fclose(full);
}

}  // namespace
}  // namespace lockstep::test
