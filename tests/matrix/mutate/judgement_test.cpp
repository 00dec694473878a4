// Every state and every alarm of one defect in one case, from results made by hand.
#include "matrix/mutate/judgement.h"

#include <gtest/gtest.h>

#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::Judgement;
using matrix::MutantState;
using matrix::MutantTraits;
using matrix::RunRecord;
using matrix::Verdict;

const MutantTraits kUnchanged{.is_unchanged = true, .is_visible = false};
const MutantTraits kChanged{.is_unchanged = false, .is_visible = false};
const MutantTraits kVisible{.is_unchanged = false, .is_visible = true};
const MutantTraits kVisibleYetUnchanged{.is_unchanged = true, .is_visible = true};

RunRecord passed(const std::string& digest) {
  matrix::CaseResult result = sample_result("a", 1, Verdict::kPass);
  result.digest = digest;
  return record_of(result);
}

RunRecord failed() {
  matrix::CaseResult result = sample_result("a", 1, Verdict::kFail);
  result.digest = "other";
  result.checks = {passed_check("loss", "step 0", 0.0),
                   failed_check("grads", "output_layer.weight", "x2 = dp"),
                   failed_check("params", "output_layer.weight", "")};
  return record_of(result);
}

RunRecord ended(Verdict verdict) {
  matrix::CaseResult result = sample_result("a", 1, verdict);
  result.digest = "";
  result.reason = "deadlock: rank 0 waits\nmore of it";
  return record_of(result);
}

Judgement judged(const MutantTraits& traits, const RunRecord& mutant) {
  return judge(traits, passed("clean"), mutant);
}

TEST(Record, HoldsTheFailingChecksAndTheFirstCause) {
  const RunRecord record = failed();
  EXPECT_TRUE(record.has_run);
  EXPECT_EQ(record.failing, (std::vector<std::string>{"grads", "params"}));
  EXPECT_EQ(record.check, "grads");
  EXPECT_EQ(record.where, "output_layer.weight");
  EXPECT_EQ(record.ranks.size(), 1U);
  EXPECT_EQ(record.hint, "x2 = dp");
  EXPECT_EQ(cause_text(record), "grads at output_layer.weight, rank 0, x2 = dp");
}

TEST(Record, OfATrialThatDidNotFinishNamesItsEndAndTheFirstLineOfTheReason) {
  EXPECT_EQ(ended(Verdict::kError).failing, std::vector<std::string>{"error"});
  EXPECT_EQ(cause_text(ended(Verdict::kError)), "error: deadlock: rank 0 waits");
  EXPECT_EQ(ended(Verdict::kTimeout).failing, std::vector<std::string>{"timeout"});
}

TEST(Record, OfATrialThatDidNotFinishTellsTheCheckThatFailedToo) {
  matrix::CaseResult result = sample_result("a", 1, Verdict::kError);
  sim::CheckResult collectives = failed_check("collectives", "", "");
  collectives.failures.clear();
  collectives.reason = "rank 1 never came\nmore";
  result.checks = {collectives};
  const RunRecord record = record_of(result);
  EXPECT_EQ(record.failing, (std::vector<std::string>{"collectives", "error"}));
  EXPECT_EQ(cause_text(record), "collectives: rank 1 never came");
}

TEST(Record, OfAPassHasNoCause) {
  EXPECT_TRUE(passed("clean").failing.empty());
  EXPECT_EQ(passed("clean").check, "");
  EXPECT_FALSE(RunRecord().has_run);
}

TEST(Judge, AnUnchangedTextWithTheSameBitsIsInert) {
  EXPECT_EQ(judged(kUnchanged, passed("clean")).state, MutantState::kInert);
  EXPECT_EQ(judged(kUnchanged, passed("clean")).alarm, "");
}

TEST(Judge, AnUnchangedTextWithOtherBitsIsAnAlarm) {
  const Judgement judgement = judged(kUnchanged, passed("other"));
  EXPECT_EQ(judgement.state, MutantState::kInert);
  EXPECT_EQ(judgement.alarm, "inert, yet with another digest than the clean run");
}

TEST(Judge, AnUnchangedTextThatFailsIsAnAlarm) {
  EXPECT_EQ(judged(kUnchanged, failed()).state, MutantState::kInert);
  EXPECT_EQ(judged(kUnchanged, failed()).alarm,
            "inert, yet grads at output_layer.weight, rank 0, x2 = dp");
  EXPECT_EQ(judged(kUnchanged, ended(Verdict::kTimeout)).alarm,
            "inert, yet timeout: deadlock: rank 0 waits");
}

TEST(Judge, AnUnchangedTextToWhichNoCheckAppliesIsAnAlarm) {
  RunRecord skipped = passed("clean");
  skipped.verdict = Verdict::kSkipped;
  EXPECT_EQ(judged(kUnchanged, skipped).alarm, "inert, yet no check applied");
}

TEST(Judge, AnUnchangedTextWhereTheRowIsVisibleIsMissed) {
  EXPECT_EQ(judged(kVisibleYetUnchanged, passed("clean")).state, MutantState::kMissed);
  EXPECT_EQ(judged(kVisibleYetUnchanged, passed("clean")).alarm, "");
}

TEST(Judge, AFailureIsCaughtWhetherOrNotTheRowIsVisible) {
  EXPECT_EQ(judged(kVisible, failed()).state, MutantState::kCaught);
  EXPECT_EQ(judged(kChanged, failed()).state, MutantState::kCaught);
  EXPECT_EQ(judged(kChanged, failed()).alarm, "");
}

TEST(Judge, ATrialThatDoesNotFinishIsCaught) {
  EXPECT_EQ(judged(kVisible, ended(Verdict::kError)).state, MutantState::kCaught);
  EXPECT_EQ(judged(kVisible, ended(Verdict::kTimeout)).state, MutantState::kCaught);
}

TEST(Judge, AVisibleRowThatNothingCatchesIsMissedWhateverItsBits) {
  EXPECT_EQ(judged(kVisible, passed("other")).state, MutantState::kMissed);
  EXPECT_EQ(judged(kVisible, passed("clean")).state, MutantState::kMissed);
}

TEST(Judge, AChangedTextThatPassesIsUnreachedWithTheSameBitsAndEquivalentWithOthers) {
  EXPECT_EQ(judged(kChanged, passed("clean")).state, MutantState::kUnreached);
  EXPECT_EQ(judged(kChanged, passed("other")).state, MutantState::kEquivalent);
}

}  // namespace
}  // namespace lockstep::test
