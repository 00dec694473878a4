// Which submits meet and agree, who waits, and what is told where nobody can go on.
#include "backends/matching/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/errors.h"
#include "tests/backends/matching/books.h"

namespace lockstep::test {
namespace {

using backends::Arrival;
using backends::Finding;
using backends::FindingKind;
using backends::Member;

TEST(Ledger, TheLastMemberCompletesARound) {
  Books books({.tp = 3});
  const Arrival first = books.submit(books.of(2), all_reduce("test.sum"));
  EXPECT_TRUE(first.opens);
  EXPECT_FALSE(first.completes);
  const Arrival second = books.submit(books.of(0), all_reduce("test.sum"));
  EXPECT_FALSE(second.opens);
  EXPECT_FALSE(second.completes);
  EXPECT_EQ(books.ledger.num_matched(), 0);
  const Arrival last = books.submit(books.of(1), all_reduce("test.sum"));
  EXPECT_FALSE(last.opens);
  EXPECT_TRUE(last.completes);
  EXPECT_EQ(last.meeting, first.meeting);
  EXPECT_EQ(books.ledger.num_calls(), 3);
  EXPECT_EQ(books.ledger.num_matched(), 3);
}

TEST(Ledger, APartyTellsWhichSubmitOfWhichCommunicatorItIs) {
  Books books({.tp = 2, .dp = 2});
  books.of(1, GroupKind::kWorld);
  books.of(1, GroupKind::kTp);
  books.call_on_tp({0, 1}, "test.first");
  books.submit(books.of(0), all_reduce("test.second"));
  const Arrival last = books.submit(books.of(1), all_reduce("test.second"));
  ASSERT_TRUE(last.completes);
  ASSERT_EQ(last.party, 1U);
  const backends::Party& party = last.meeting->parties[1];
  EXPECT_EQ(party.rank, Rank{1});
  EXPECT_EQ(party.member, &books.of(1));
  EXPECT_EQ(party.member->number, 1);
  EXPECT_EQ(party.sequence, 2U);
  EXPECT_EQ(party.message, -1);
  EXPECT_EQ(last.meeting->parties[0].member->number, 0);
}

TEST(Ledger, ASecondConnectIsAnotherCommunicatorWithRoundsOfItsOwn) {
  Books books({.tp = 2});
  const Group& tp = *books.mesh.group_of(GroupKind::kTp, Rank{0});
  Member& zero_a = books.ledger.connect(Rank{0}, tp);
  Member& zero_b = books.ledger.connect(Rank{0}, tp);
  Member& one_a = books.ledger.connect(Rank{1}, tp);
  EXPECT_EQ(zero_b.number, 1);
  EXPECT_EQ(zero_a.channel, one_a.channel);
  books.submit(zero_b, all_reduce("test.sum"));
  EXPECT_TRUE(books.submit(one_a, all_reduce("test.sum")).opens);
}

TEST(Ledger, OnlyMembersOfAGroupConnectToIt) {
  Books books({.tp = 2, .dp = 2});
  const Group& tp = *books.mesh.group_of(GroupKind::kTp, Rank{3});
  EXPECT_THROW(books.ledger.connect(Rank{0}, tp), InternalError);
}

TEST(Ledger, AWaitIsBlockedUntilTheLastMeetingOfItsSubmitCompletes) {
  Books books({.tp = 3});
  const std::vector<CollectiveCall> both = {recv_from(1, "test.a"), recv_from(2, "test.b")};
  Member& me = books.of(0);
  books.ledger.submit(me, both);
  EXPECT_FALSE(books.ledger.begin_wait(me, 1, "test.wait"));
  EXPECT_TRUE(books.ledger.is_blocked(Rank{0}));
  EXPECT_TRUE(books.submit(books.of(1), send_to(0, "test.a")).completes);
  EXPECT_TRUE(books.ledger.is_blocked(Rank{0}));
  EXPECT_TRUE(books.ledger.unblocked().empty());
  EXPECT_TRUE(books.submit(books.of(2), send_to(0, "test.b")).completes);
  EXPECT_FALSE(books.ledger.is_blocked(Rank{0}));
  ASSERT_EQ(books.ledger.unblocked().size(), 1U);
  EXPECT_EQ(books.ledger.unblocked()[0], Rank{0});
}

TEST(Ledger, AWaitForAnEarlierSubmitDoesNotWaitForALaterOne) {
  Books books({.tp = 2});
  for (const int rank : {0, 1}) books.submit(books.of(rank), all_reduce("test.first"));
  books.submit(books.of(0), all_reduce("test.second"));
  EXPECT_TRUE(books.ledger.begin_wait(books.of(0), 1, "test.wait"));
  EXPECT_FALSE(books.ledger.begin_wait(books.of(0), 2, "test.wait"));
}

TEST(Ledger, CollectivesOfASubmitArriveBeforeItsMessages) {
  Books books({.tp = 2});
  const std::vector<CollectiveCall> calls = {
      recv_from(1, "test.recv"), all_reduce("test.sum"), send_to(1, "test.send")};
  const auto arrivals = books.ledger.submit(books.of(0), calls);
  ASSERT_EQ(arrivals.size(), 3U);
  EXPECT_FALSE(arrivals[0].meeting->is_message);
  EXPECT_EQ(arrivals[1].meeting->parties[arrivals[1].party].message, 0);
  EXPECT_EQ(arrivals[2].meeting->parties[arrivals[2].party].message, 2);
}

TEST(Ledger, MessagesOfAPairMeetInTheirOrder) {
  Books books({.tp = 2});
  const Arrival first = books.submit(books.of(0), send_to(1, "test.first"));
  const Arrival second = books.submit(books.of(0), send_to(1, "test.second"));
  EXPECT_EQ(books.submit(books.of(1), recv_from(0, "test.first")).meeting, first.meeting);
  const Arrival last = books.submit(books.of(1), recv_from(0, "test.second"));
  EXPECT_EQ(last.meeting, second.meeting);
  EXPECT_TRUE(last.completes);
}

TEST(Ledger, BothEndsOfAMessageToOneselfMeetInOneSubmit) {
  Books books({.tp = 2});
  const std::vector<CollectiveCall> calls = {send_to(1, "test.self"), recv_from(1, "test.self")};
  const auto arrivals = books.ledger.submit(books.of(1), calls);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_TRUE(arrivals[0].opens);
  EXPECT_FALSE(arrivals[0].completes);
  EXPECT_FALSE(arrivals[1].opens);
  EXPECT_TRUE(arrivals[1].completes);
}

TEST(Ledger, KeepsLabelsThatTheirOwnerTakesBack) {
  Books books({.tp = 2});
  std::string label = "test.a_label_too_long_for_any_short_buffer";
  books.submit(books.of(0), all_reduce(label));
  books.ledger.begin_wait(books.of(0), 1, "test.wait");
  label.assign(label.size(), 'x');
  books.ledger.rank_returned(Rank{1});
  EXPECT_NE(to_text(books.ledger.diagnose()).find("'test.a_label_too_long_for_any_short_buffer'"),
            std::string::npos)
      << to_text(books.ledger.diagnose());
}

TEST(Ledger, TellsNothingWhereAllIsWell) {
  Books books({.tp = 2});
  books.call_on_tp({0, 1}, "test.sum");
  EXPECT_TRUE(books.ledger.any_running());
  books.ledger.rank_returned(Rank{0});
  EXPECT_TRUE(books.ledger.any_running());
  books.ledger.rank_returned(Rank{1});
  EXPECT_FALSE(books.ledger.any_running());
  EXPECT_TRUE(books.ledger.diagnose().empty()) << to_text(books.ledger.diagnose());
}

TEST(Ledger, CallsThatDifferNeverCompleteAndAreTold) {
  Books books({.tp = 3});
  books.call(books.of(0), all_reduce("test.sum"));
  books.call(books.of(1), all_reduce("test.sum", 9));
  EXPECT_FALSE(books.call(books.of(2), all_reduce("test.sum")));
  EXPECT_FALSE(books.ledger.any_running());
  EXPECT_EQ(books.ledger.num_matched(), 0);
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].kind, FindingKind::kMismatch);
  EXPECT_EQ(findings[0].ranks, std::vector<Rank>{Rank{1}});
  EXPECT_EQ(findings[0].message,
            "rank 1 (tp 1) calls all_reduce 'test.sum' with count 9 where the others have 8 on "
            "tp#0 {0, 1, 2}\n"
            "3 of 3 ranks wait and none can be woken:\n"
            "  rank 0 (tp 0), rank 1 (tp 1), rank 2 (tp 2): waits for all_reduce 'test.sum' on "
            "tp#0 {0, 1, 2} (call 1), which does not match");
}

TEST(Ledger, WaitsThatCloseACycleAreADeadlock) {
  Books books({.tp = 2});
  books.call(books.of(0), send_to(1, "test.there"));
  books.call(books.of(1), send_to(0, "test.back"));
  EXPECT_FALSE(books.ledger.any_running());
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].kind, FindingKind::kDeadlock);
  EXPECT_TRUE(findings[0].message.starts_with(
      "deadlock, a cycle: rank 0 (tp 0) waits for rank 1 (tp 1) in send 'test.there' on "
      "tp#0 {0, 1}, rank 1 (tp 1) waits for rank 0 (tp 0) in send 'test.back' on tp#0 {0, 1}\n"))
      << to_text(findings);
}

TEST(Ledger, ACallThatNobodyWaitedForIsPending) {
  Books books({.tp = 2});
  for (const int rank : {0, 1}) books.submit(books.of(rank), all_reduce("test.sum"));
  for (const int rank : {0, 1}) books.ledger.rank_returned(Rank{rank});
  const std::vector<Finding> findings = books.ledger.diagnose();
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].kind, FindingKind::kPending);
  EXPECT_EQ(findings[0].message,
            "all_reduce 'test.sum' on tp#0 {0, 1} was submitted and never waited for by "
            "rank 0 (tp 0), rank 1 (tp 1)");
}

TEST(Ledger, NothingCompletesWithARankThatHasEnded) {
  Books books({.tp = 2});
  books.submit(books.of(0), all_reduce("test.sum"));
  books.ledger.rank_returned(Rank{0});
  EXPECT_FALSE(books.submit(books.of(1), all_reduce("test.sum")).completes);
  EXPECT_FALSE(books.ledger.begin_wait(books.of(1), 1, "test.sum"));
}

}  // namespace
}  // namespace lockstep::test
