// One trial by itself: what its ranks say and the time are made up.
#include "backends/coordinator/trial.h"

#include <gtest/gtest.h>

#include "tests/backends/coordinator/worlds.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using backends::Connect;
using backends::Done;
using backends::Ended;
using backends::EndKind;
using backends::Finding;
using backends::FindingKind;
using backends::Go;
using backends::Heartbeat;
using backends::ProtocolError;
using backends::Submit;
using backends::Trial;
using backends::Wait;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Two ranks, or more, with one communicator each.
class TrialTest : public testing::Test {
 protected:
  explicit TrialTest(const LayoutSizes& sizes = {.tp = 2}, const std::vector<int>& processes = {})
      : mesh_(layout_of(sizes)), processes_(processes) {
    for (int rank = 0; rank < mesh_.world(); ++rank) {
      say(rank, Connect{.group = *mesh_.group_of(GroupKind::kTp, Rank{rank})});
    }
  }

  void say(int rank, const backends::FromRank& message) { trial_.take(Rank{rank}, message, now_); }
  void submit(int rank, std::string_view label) {
    say(rank, Submit{.communicator = 0, .calls = {all_reduce(label)}, .splits = {}});
    ++num_submits_[rank];
  }
  void wait(int rank) {
    say(rank, Wait{.communicator = 0, .sequence = num_submits_[rank], .label = "test.wait"});
  }
  void call(int rank, std::string_view label) {
    submit(rank, label);
    wait(rank);
  }
  void do_call(int rank) { do_call(rank, num_submits_[rank]); }
  void do_call(int rank, std::uint64_t sequence) {
    say(rank, Done{{.communicator = 0, .sequence = sequence, .message = -1}});
  }
  void end(int rank, EndKind kind, const std::string& text = "") {
    say(rank, Ended{.kind = kind, .text = text});
  }
  bool is_over() const { return trial_.is_over(now_); }
  std::vector<Finding> findings() { return trial_.finish(now_).findings; }

  Mesh mesh_;
  std::vector<int> processes_;
  Trial::Time now_;
  std::vector<std::pair<int, Go>> gos_;
  Trial trial_{{.mesh = mesh_,
                .limits = {.stall = seconds(30)},
                .send_go = [this](Rank rank, const Go& go) { gos_.emplace_back(rank.value, go); },
                .processes = processes_},
               now_};
  std::map<int, std::uint64_t> num_submits_;
};

class TrialOfThree : public TrialTest {
 protected:
  TrialOfThree() : TrialTest({.tp = 3}) {}
};

class TrialOfTwoGroups : public TrialTest {
 protected:
  TrialOfTwoGroups() : TrialTest({.tp = 2, .dp = 2}) {}
};

// Ranks 0 and 1 are tp#0, ranks 2 and 3 tp#1; a process serves all but rank 3.
class TrialOfTwoProcesses : public TrialTest {
 protected:
  TrialOfTwoProcesses() : TrialTest({.tp = 2, .dp = 2}, {0, 0, 0, 1}) {}
};

class TrialOfOneProcess : public TrialTest {
 protected:
  TrialOfOneProcess() : TrialTest({.tp = 2, .dp = 2}, {0, 0, 0, 0}) {}
};

TEST_F(TrialOfTwoProcesses, RanksAreToldTheOrderOfTheCallsThatTheirProcessTakesPartIn) {
  for (const int rank : {2, 3, 0, 1}) call(rank, "a.b");
  std::map<int, std::uint64_t> place;
  for (const auto& [rank, go] : gos_) place[rank] = go.place;
  EXPECT_EQ(place, (std::map<int, std::uint64_t>{{0, 2}, {1, 2}, {2, 1}, {3, 1}}));
}

// A process carries calls out in their order: what comes after the one that rank 0 has left cannot
// begin.
TEST_F(TrialOfOneProcess, NobodyWaitsForTheStallLimitBehindACallThatOneHasLeft) {
  submit(0, "a.b");
  for (const int rank : {1, 2, 3}) call(rank, "a.b");
  end(0, EndKind::kThrew, "a planted error");
  now_ += milliseconds(2500);
  for (const int rank : {1, 2, 3}) say(rank, Heartbeat{});
  ASSERT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, FindingKind::kRankError);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{0}}));
}

TEST_F(TrialTest, TellsAllMembersToGoWhenTheLastHasCome) {
  call(0, "a.b");
  EXPECT_TRUE(gos_.empty());
  call(1, "a.b");
  const Go go{.communicator = 0, .sequence = 1, .message = -1};
  EXPECT_EQ(gos_, (std::vector<std::pair<int, Go>>{{0, go}, {1, go}}));
}

TEST_F(TrialTest, IsOverWithoutFindingsWhenAllHaveDoneTheirCallsAndReturned) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  for (const int rank : {0, 1}) do_call(rank);
  end(0, EndKind::kReturned, "zero");
  EXPECT_FALSE(is_over());
  end(1, EndKind::kReturned, "one");
  ASSERT_TRUE(is_over());
  const auto outcome = trial_.finish(now_);
  EXPECT_EQ(messages(outcome), "");
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"zero", "one"}));
  EXPECT_EQ(outcome.num_calls, 2);
  EXPECT_EQ(outcome.num_matched, 2);
}

TEST_F(TrialTest, AMismatchIsOverAtOnceWhenNobodyRunsAndAfterTwoSecondsElse) {
  call(0, "a.b");
  say(1, Submit{.communicator = 0, .calls = {all_reduce("a.c")}, .splits = {}});
  EXPECT_FALSE(is_over());
  now_ += milliseconds(1999);
  say(1, Heartbeat{});
  EXPECT_FALSE(is_over());
  EXPECT_EQ(trial_.due(), now_ + milliseconds(1));
  now_ += milliseconds(1);
  EXPECT_TRUE(is_over());
  EXPECT_EQ(findings().front().kind, FindingKind::kMismatch);
}

TEST_F(TrialTest, WaitsOfAllForWhatNeverComesAreOverAtOnce) {
  call(0, "a.b");
  end(1, EndKind::kReturned);
  EXPECT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, FindingKind::kDeadlock);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{1}}));
}

TEST_F(TrialTest, ALossIsOverAtOnceWhenNobodyCanGoOn) {
  call(0, "a.b");
  trial_.lost(Rank{1}, "killed", now_);
  EXPECT_TRUE(is_over());
  const auto found = findings();
  EXPECT_EQ(found.front().kind, FindingKind::kLost);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{1}}));
}

TEST_F(TrialTest, RanksThatRunAreListenedToForAWhileAfterALoss) {
  trial_.lost(Rank{1}, "killed", now_);
  EXPECT_FALSE(is_over());
  now_ += milliseconds(299);
  EXPECT_FALSE(is_over());
  now_ += milliseconds(1);
  EXPECT_TRUE(is_over());
  EXPECT_EQ(findings().size(), 1U);  // rank 0 has not stalled
}

TEST_F(TrialTest, ALossCutsTheTimeThatAMismatchLeaves) {
  submit(0, "a.b");
  submit(1, "a.c");
  EXPECT_EQ(trial_.due(), now_ + seconds(2));
  trial_.lost(Rank{1}, "killed", now_);
  EXPECT_EQ(trial_.due(), now_ + milliseconds(300));
}

TEST_F(TrialTest, OneThatHasEndedIsNotLostAfterwards) {
  end(0, EndKind::kReturned);
  trial_.lost(Rank{0}, "its line broke", now_);
  now_ += seconds(1);
  EXPECT_FALSE(is_over());
}

TEST_F(TrialTest, OneThatHasYetToWaitForACallWithALostRankMayGoOn) {
  submit(0, "a.b");
  call(1, "a.b");
  trial_.lost(Rank{1}, "killed", now_);
  EXPECT_FALSE(is_over());
  wait(0);
  EXPECT_TRUE(is_over());
}

TEST_F(TrialTest, OneThatHasDoneAllBeforeTheCallWithALostRankMayGoOnUntilThere) {
  for (const int rank : {0, 1}) submit(rank, "a.b");
  for (const int rank : {0, 1}) call(rank, "a.c");
  do_call(1, 1);
  trial_.lost(Rank{1}, "killed", now_);
  EXPECT_FALSE(is_over());
  do_call(0, 1);
  EXPECT_TRUE(is_over());
}

TEST_F(TrialTest, OneThatThrowsBeforeItWaitsForAStartedCallIsAtFaultAtOnce) {
  submit(0, "a.b");
  call(1, "a.b");
  end(0, EndKind::kThrew, "out of luck");
  EXPECT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, FindingKind::kRankError);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{0}}));
}

TEST_F(TrialTest, OneThatIsCancelledByNobodyIsAtFaultAndNotThoseThatThrowBecauseOfIt) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  end(0, EndKind::kCancelled);
  end(1, EndKind::kThrew, "connection reset");
  EXPECT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{0}}));
}

TEST_F(TrialOfThree, ASilentRankIsNotNamedWhereALossExplainsWhatOneThrew) {
  for (const int rank : {0, 1, 2}) call(rank, "a.b");
  now_ += seconds(20);
  for (const int rank : {0, 1}) say(rank, Heartbeat{});
  trial_.lost(Rank{0}, "killed", now_);
  end(1, EndKind::kThrew, "connection reset");
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, FindingKind::kLost);
}

TEST_F(TrialTest, OneThatStandsInACallWithALostRankCannotGoOn) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  trial_.lost(Rank{1}, "killed", now_);
  EXPECT_TRUE(is_over());
}

TEST_F(TrialTest, OneThatThrowsOutOfACallIsAConsequenceOfALossThatIsNoticedLater) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  end(0, EndKind::kThrew, "connection reset");
  EXPECT_FALSE(is_over());  // though rank 1 stands in a call with one that has ended
  now_ += milliseconds(100);
  trial_.lost(Rank{1}, "killed", now_);
  EXPECT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, FindingKind::kLost);
}

TEST_F(TrialTest, OneThatThrowsOutOfACallIsAtFaultWhereNoOtherIs) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  end(0, EndKind::kThrew, "out of buffers");
  now_ += milliseconds(300);
  say(1, Heartbeat{});
  ASSERT_TRUE(is_over());
  const auto found = findings();
  EXPECT_EQ(found.front().kind, FindingKind::kRankError);
  EXPECT_NE(found.front().message.find("out of buffers"), std::string::npos);
}

TEST_F(TrialTest, OneThatTimesOutInACallIsAConsequenceOfASilentRank) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  now_ += seconds(20);
  end(0, EndKind::kThrew, "timed out");
  now_ += milliseconds(300);
  ASSERT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, FindingKind::kStalled);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{1}}));
}

TEST_F(TrialTest, ThoseThatRunGoOnAfterOneThrew) {
  end(0, EndKind::kThrew, "no memory");
  now_ += seconds(29);
  say(1, Heartbeat{});
  EXPECT_FALSE(is_over());
  call(1, "a.b");
  EXPECT_TRUE(is_over());
  EXPECT_EQ(findings().front().kind, FindingKind::kRankError);
}

TEST_F(TrialTest, ASilentRankIsNamedBeforeOneThatRuns) {
  now_ += seconds(20);
  say(1, Heartbeat{});
  now_ += milliseconds(9999);
  EXPECT_FALSE(is_over());
  now_ += milliseconds(1);
  ASSERT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, FindingKind::kStalled);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{0}}));
  EXPECT_NE(found.front().message.find("not heard of for 30 s"), std::string::npos);
}

TEST_F(TrialTest, OneThatRunsWithoutACallIsNamedThoughItsProcessLives) {
  call(0, "a.b");
  now_ += seconds(30);
  for (const int rank : {0, 1}) say(rank, Heartbeat{});
  ASSERT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.front().kind, FindingKind::kStalled);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{1}}));
  EXPECT_NE(found.front().message.find("running for 30 s without a call"), std::string::npos);
}

TEST_F(TrialTest, OneThatHoldsUpAStartedCallIsNamed) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  do_call(0);
  call(0, "a.c");
  now_ += seconds(30);
  for (const int rank : {0, 1}) say(rank, Heartbeat{});
  ASSERT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.front().kind, FindingKind::kStalled);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{1}}));
  EXPECT_NE(found.front().message.find("all_reduce 'a.b' on tp#0 {0, 1} has started and it has not "
                                       "done its part for 30 s"),
            std::string::npos)
      << found.front().message;
}

TEST_F(TrialOfTwoGroups, OneThatHoldsUpAHalfDoneCallIsNamedBeforeThoseOfACallThatNoneHasDone) {
  for (const int rank : {0, 1, 2, 3}) call(rank, "a.b");
  do_call(2);
  call(2, "a.c");
  now_ += seconds(30);
  for (const int rank : {0, 1, 2, 3}) say(rank, Heartbeat{});
  ASSERT_TRUE(is_over());
  const auto found = findings();
  ASSERT_EQ(found.front().kind, FindingKind::kStalled);
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{3}}));
}

TEST_F(TrialTest, EveryWordPutsTheStallOffAndNoHeartbeatDoes) {
  now_ += seconds(20);
  say(0, Submit{.communicator = 0, .calls = {all_reduce("a.b")}, .splits = {}});
  now_ += seconds(20);
  say(1, Heartbeat{});
  EXPECT_FALSE(is_over());
  now_ += seconds(10);
  EXPECT_TRUE(is_over());
}

TEST_F(TrialTest, OneThatReturnsOutOfAStartedCallIsNamed) {
  for (const int rank : {0, 1}) call(rank, "a.b");
  end(1, EndKind::kReturned);
  ASSERT_TRUE(is_over());  // rank 0 stands in it
  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().message,
            "rank 1 (tp 1) returned without its part of all_reduce 'a.b' on tp#0 {0, 1}");
  EXPECT_EQ(found.front().ranks, (std::vector<Rank>{Rank{1}}));
}

TEST_F(TrialTest, WhatNoClientSaysIsRefused) {
  EXPECT_THROW(say(0, Submit{.communicator = 1, .calls = {all_reduce("a.b")}, .splits = {}}),
               ProtocolError);
  EXPECT_THROW(say(0, Submit{.communicator = 0, .calls = {send("a.b", 2)}, .splits = {}}),
               ProtocolError);
  EXPECT_THROW(say(0, Submit{.communicator = 0, .calls = {all_reduce("a.b", -1)}, .splits = {}}),
               ProtocolError);
  EXPECT_THROW(say(0, Wait{.communicator = 0, .sequence = 1, .label = "a.w"}), ProtocolError);
  EXPECT_THROW(say(0, Done{{.communicator = 0, .sequence = 1, .message = -1}}), ProtocolError);
  const Group beyond{.kind = GroupKind::kTp, .index = 0, .ranks = {Rank{0}, Rank{7}}};
  EXPECT_THROW(say(0, Connect{.group = beyond}), ProtocolError);
  call(0, "a.b");
  EXPECT_THROW(wait(0), ProtocolError);  // it is in a wait
  end(0, EndKind::kReturned);
  EXPECT_THROW(end(0, EndKind::kReturned), ProtocolError);
}

}  // namespace
}  // namespace lockstep::test
