// Ranks that are lost, stall or throw: who is told first, with which last call, and what others do.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/backends/matching/books.h"

namespace lockstep::test {
namespace {

using backends::Finding;
using backends::FindingKind;

std::vector<FindingKind> kinds_of(const std::vector<Finding>& findings) {
  std::vector<FindingKind> kinds;
  for (const Finding& finding : findings) kinds.push_back(finding.kind);
  return kinds;
}

TEST(LostRank, IsToldWithItsLastCallAndWhatTheOthersDo) {
  Books books({.tp = 2, .dp = 2});
  books.call_on_tp({0, 1}, "test.sum");
  books.call(books.of(0), all_reduce("test.next"));
  books.ledger.rank_lost(Rank{1}, "killed by signal 9 (Killed)");
  books.ledger.rank_returned(Rank{2});
  books.ledger.rank_returned(Rank{3});
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].kind, FindingKind::kLost);
  EXPECT_EQ(findings[0].ranks, std::vector<Rank>{Rank{1}});
  EXPECT_EQ(findings[0].label, "test.sum");
  EXPECT_EQ(findings[0].message,
            "rank 1 (tp 1, dp 0) was lost: killed by signal 9 (Killed)\n"
            "its last call was all_reduce 'test.sum' on tp#0 {0, 1}\n"
            "1 of 4 ranks wait and none can be woken:\n"
            "  rank 0 (tp 0, dp 0): waits for all_reduce 'test.next' on tp#0 {0, 1} (call 2)\n"
            "    missing: rank 1 (tp 1, dp 0), which was lost: killed by signal 9 (Killed)");
}

TEST(LostRank, MayHaveMadeNoCall) {
  Books books({.tp = 2});
  books.ledger.rank_lost(Rank{0}, "exited with code 3");
  books.ledger.rank_returned(Rank{1});
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].message,
            "rank 0 (tp 0) was lost: exited with code 3\nit had made no call yet");
}

TEST(LostRank, TellsWhoCarriesOutACallWithoutIt) {
  Books books({.tp = 3});
  books.start_on_tp({0, 1, 2}, "test.sum");
  books.ledger.rank_lost(Rank{2}, "killed by signal 9 (Killed)");
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].message,
            "rank 2 (tp 2) was lost: killed by signal 9 (Killed)\n"
            "its last call was all_reduce 'test.sum' on tp#0 {0, 1, 2}\n"
            "2 of 3 ranks go on:\n"
            "  rank 0 (tp 0), rank 1 (tp 1): carries out all_reduce 'test.sum' on tp#0 {0, 1, 2}, "
            "to which all have come");
}

TEST(LostRank, IsMissedWithWhatItLeftBehind) {
  Books books({.tp = 2});
  books.submit(books.of(1), all_reduce("test.sum"));
  books.ledger.rank_lost(Rank{1}, "killed by signal 9 (Killed)");
  EXPECT_FALSE(books.call(books.of(0), all_reduce("test.sum")));
  EXPECT_NE(to_text(books.ledger.diagnose())
                .find("missing: rank 1 (tp 1), which was lost: killed by signal 9 (Killed), its "
                      "part of the call not waited for or never made"),
            std::string::npos)
      << to_text(books.ledger.diagnose());
}

TEST(LostRank, ComesAfterTheMismatchThatMayHaveKilledIt) {
  Books books({.tp = 3});
  books.call(books.of(0), all_reduce("test.sum"));
  books.call(books.of(1), all_reduce("test.other"));
  books.call(books.of(2), all_reduce("test.sum"));
  books.ledger.rank_lost(Rank{1}, "killed by signal 6 (Aborted)");
  const std::vector<Finding> findings = books.ledger.diagnose();
  EXPECT_EQ(kinds_of(findings), (std::vector{FindingKind::kMismatch, FindingKind::kLost}))
      << to_text(findings);
  EXPECT_NE(findings[0].message.find("2 of 3 ranks wait"), std::string::npos)
      << findings[0].message;
  EXPECT_EQ(findings[1].message.find("2 of 3 ranks wait"), std::string::npos)
      << findings[1].message;
}

TEST(LostRank, ComesBeforeAnErrorThatLeftAWaitAndAfterOneThatDidNot) {
  Books books({.tp = 3});
  books.start_on_tp({0, 1, 2}, "test.sum");
  books.finish_last_wait(books.of(2));
  books.ledger.rank_threw(Rank{0}, "connection closed by peer");
  books.ledger.rank_lost(Rank{1}, "killed by signal 9 (Killed)");
  books.ledger.rank_threw(Rank{2}, "bad_alloc");
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 3U) << to_text(findings);
  EXPECT_EQ(findings[0].message, "rank 2 (tp 2) threw: bad_alloc");
  EXPECT_EQ(findings[1].kind, FindingKind::kLost);
  EXPECT_EQ(findings[2].message, "rank 0 (tp 0) threw: connection closed by peer");
}

TEST(LostRank, SharesAFindingWithThoseLostInTheSameWay) {
  Books books({.tp = 4});
  books.call(books.of(0), all_reduce("test.sum"));
  books.submit(books.of(2), all_reduce("test.sum"));
  for (const int rank : {1, 2}) {
    books.ledger.rank_lost(Rank{rank}, "killed by signal 9 (Killed)");
  }
  books.ledger.rank_lost(Rank{3}, "exited with code 3");
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 2U) << to_text(findings);
  EXPECT_EQ(findings[0].message,
            "rank 3 (tp 3) was lost: exited with code 3\nit had made no call yet");
  EXPECT_EQ(findings[1].ranks, (std::vector<Rank>{Rank{1}, Rank{2}}));
  EXPECT_TRUE(findings[1].message.starts_with(
      "rank 1 (tp 1), rank 2 (tp 2) were lost: killed by signal 9 (Killed)\n"
      "  rank 1 (tp 1): it had made no call yet\n"
      "  rank 2 (tp 2): its last call was all_reduce 'test.sum' on tp#0 {0, 1, 2, 3}\n"
      "1 of 4 ranks wait and none can be woken:\n"))
      << to_text(findings);
}

TEST(LostRank, IsCountedBeyondSixteen) {
  Books books({.tp = 18});
  for (int rank = 0; rank < 18; ++rank) books.ledger.rank_lost(Rank{rank}, "its host is gone");
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_NE(findings[0].message.find(" and 2 more ranks were lost: its host is gone"),
            std::string::npos)
      << to_text(findings);
}

TEST(LostRank, HasNotEndedOtherwiseBefore) {
  Books books({.tp = 2});
  books.ledger.rank_returned(Rank{0});
  books.ledger.rank_lost(Rank{0}, "its line broke");
  books.ledger.rank_returned(Rank{1});
  EXPECT_TRUE(books.ledger.diagnose().empty()) << to_text(books.ledger.diagnose());
}

TEST(StalledRank, IsToldInOneSentenceAndThenWhatTheOthersDo) {
  Books books({.tp = 2, .dp = 2});
  books.call_on_tp({2, 3}, "test.sum");
  books.call(books.of(3), all_reduce("test.next"));
  books.ledger.rank_returned(Rank{0});
  books.ledger.rank_returned(Rank{1});
  books.ledger.rank_stalled(Rank{2}, "not heard of for 8 s");
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].kind, FindingKind::kStalled);
  EXPECT_EQ(findings[0].ranks, std::vector<Rank>{Rank{2}});
  EXPECT_EQ(findings[0].message,
            "rank 2 (tp 0, dp 1) has stalled: not heard of for 8 s; its last call was "
            "all_reduce 'test.sum' on tp#1 {2, 3}\n"
            "1 of 4 ranks wait and none can be woken:\n"
            "  rank 3 (tp 1, dp 1): waits for all_reduce 'test.next' on tp#1 {2, 3} (call 2)\n"
            "    missing: rank 2 (tp 0, dp 1), which has stalled: not heard of for 8 s");
}

TEST(StalledRank, MayHaveMadeNoCall) {
  Books books({.tp = 2});
  books.ledger.rank_stalled(Rank{1}, "running for 30 s without a call");
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].message,
            "rank 1 (tp 1) has stalled: running for 30 s without a call; it had made no call yet\n"
            "1 of 2 ranks go on:\n"
            "  rank 0 (tp 0): is running");
}

TEST(StalledRank, SharesAFindingWithThoseThatShowTheSame) {
  Books books({.tp = 4});
  books.call(books.of(0), all_reduce("test.sum"));
  books.submit(books.of(2), all_reduce("test.sum"));
  for (const int rank : {1, 2, 3}) {
    books.ledger.rank_stalled(Rank{rank}, "running for 30 s without a call");
  }
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_TRUE(findings[0].message.starts_with(
      "rank 1 (tp 1), rank 2 (tp 2), rank 3 (tp 3) have stalled: running for 30 s without a call\n"
      "  rank 1 (tp 1), rank 3 (tp 3): it had made no call yet\n"
      "  rank 2 (tp 2): its last call was all_reduce 'test.sum' on tp#0 {0, 1, 2, 3}\n"
      "1 of 4 ranks wait and none can be woken:\n"))
      << to_text(findings);
}

TEST(LostRank, LeavesOthersWaitingThatThoseWhoRunMayStillWake) {
  Books books({.tp = 3});
  books.call(books.of(0), all_reduce("test.sum"));
  books.ledger.rank_lost(Rank{1}, "killed by signal 9 (Killed)");
  EXPECT_NE(to_text(books.ledger.diagnose()).find("\n1 of 3 ranks wait:\n"), std::string::npos)
      << to_text(books.ledger.diagnose());
}

TEST(ReturnedRank, IsTheCauseWhoeverElseIsMissing) {
  Books books({.tp = 3});
  books.call(books.of(0), all_reduce("test.sum"));
  books.call(books.of(1, GroupKind::kWorld), all_reduce("test.other"));
  books.ledger.rank_returned(Rank{2});
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].ranks, std::vector<Rank>{Rank{2}}) << to_text(findings);
}

TEST(ThrowingRank, KeepsItsErrorsFurtherLinesApartFromTheReports) {
  Books books({.tp = 2});
  books.ledger.rank_threw(Rank{0}, "two things\nare wrong");
  books.ledger.rank_returned(Rank{1});
  EXPECT_EQ(books.ledger.diagnose().at(0).message, "rank 0 (tp 0) threw: two things\n  are wrong");
}

TEST(ThrownInAWait, IsTheFindingWhereNobodyWasLost) {
  Books books({.tp = 3});
  books.start_on_tp({0, 1, 2}, "test.sum");
  books.ledger.rank_threw(Rank{0}, "timed out");
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].message,
            "rank 0 (tp 0) threw: timed out\n"
            "2 of 3 ranks go on:\n"
            "  rank 1 (tp 1), rank 2 (tp 2): carries out all_reduce 'test.sum' on tp#0 {0, 1, 2}, "
            "to which all have come");
}

}  // namespace
}  // namespace lockstep::test
