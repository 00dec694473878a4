// Ranks that hang, or leave a call unfinished, are told with everyone's whereabouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "core/base/errors.h"
#include "tests/backends/inprocess/findings_fixture.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using sim::ClusterReport;
using sim::RankHost;

class Deadlock : public FindingsTest {};

INSTANTIATE_TEST_SUITE_P(OnBothHosts, Deadlock, testing::ValuesIn(kBothHosts), host_name);

TEST_P(Deadlock, ARankThatReturnsLeavesADeadlock) {
  const ClusterReport report = spawn({.tp = 2, .dp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    if (r.rank.value == 3) return;
    run_call(*tp, {.label = "test.barrier", .kind = CollectiveKind::kBarrier});
  });
  expect_only(report,
              FindingKind::kDeadlock,
              "rank 2 (tp 0, dp 1) waits for rank 3 (tp 1, dp 1) in barrier 'test.barrier' on "
              "tp#1 {2, 3}, rank 3 (tp 1, dp 1) has returned");
  EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{3}});
}

TEST_P(Deadlock, ACycleOfWaitsIsNamed) {
  // Rank 0 waits over tp for rank 1, which waits over dp for 3, which waits over tp for 2, which
  // waits over dp for 0.
  const ClusterReport report = spawn({.tp = 2, .dp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const auto dp = r.connect(GroupKind::kDp);
    const bool over_tp = r.rank.value == 0 || r.rank.value == 3;
    run_call(over_tp ? *tp : *dp,
             {.label = over_tp ? "test.tp" : "test.dp", .kind = CollectiveKind::kBarrier});
  });
  expect_only(report,
              FindingKind::kDeadlock,
              "deadlock, a cycle: rank 0 (tp 0, dp 0) waits for rank 1 (tp 1, dp 0) in barrier "
              "'test.tp' on tp#0 {0, 1}, rank 1 (tp 1, dp 0) waits for rank 3 (tp 1, dp 1) in "
              "barrier 'test.dp' on dp#1 {1, 3}, rank 3");
  EXPECT_EQ(report.findings[0].ranks.size(), 4U);
  EXPECT_NE(report.findings[0].message.find("missing: rank 2 (tp 0, dp 1), which waits for "
                                            "barrier 'test.dp' on dp#0 {0, 2}"),
            std::string::npos)
      << to_text(report);
}

TEST_P(Deadlock, SendsThatWaitForEachOtherAreACycle) {
  const ClusterReport report = spawn({.tp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor values = r.tensor({1});
    const GroupRank other{1 - r.rank.value};
    run_call(*tp,
             {.label = "test.send",
              .kind = CollectiveKind::kSend,
              .input = values.buffer(),
              .peer = other});
    run_call(*tp,
             {.label = "test.recv",
              .kind = CollectiveKind::kRecv,
              .output = values.buffer(),
              .peer = other});
  });
  expect_only(report,
              FindingKind::kDeadlock,
              "deadlock, a cycle: rank 0 (tp 0) waits for rank 1 (tp 1) in send 'test.send' on "
              "tp#0 {0, 1}, rank 1 (tp 1) waits for rank 0 (tp 0) in send 'test.send'");
}

TEST_P(Deadlock, ACallThatNobodyWaitsForIsPending) {
  const ClusterReport report = spawn({.tp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const CollectiveCall call{.label = "test.forgotten", .kind = CollectiveKind::kBarrier};
    const Ticket ticket = tp->submit({&call, 1});
    if (r.rank.value == 0) ticket.source->wait(ticket.sequence, {}, "test.wait");
    run_call(*tp, {.label = "test.last", .kind = CollectiveKind::kBarrier});
  });
  expect_only(report,
              FindingKind::kPending,
              "barrier 'test.forgotten' on tp#0 {0, 1} was submitted and never waited for by rank "
              "1 (tp 1)");
  EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{1}});
}

// Labels live in what the ranks' programs own, and the report is made when all have ended.
TEST_P(Deadlock, LabelsOfRanksThatAreGoneAreStillTold) {
  const ClusterReport report = spawn({.tp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const auto label = std::make_unique<std::string>("test.a_label_of_this_rank's_own");
    const CollectiveCall call{.label = *label, .kind = CollectiveKind::kBarrier};
    const Ticket ticket = tp->submit({&call, 1});
    if (r.rank.value == 0) ticket.source->wait(ticket.sequence, {}, "test.wait");
    run_call(*tp, {.label = "test.last", .kind = CollectiveKind::kBarrier});
  });
  expect_only(report,
              FindingKind::kPending,
              "barrier 'test.a_label_of_this_rank's_own' on tp#0 {0, 1} was submitted and never "
              "waited for by rank 1 (tp 1)");
}

TEST_P(Deadlock, ARankThatEndsBeforeItsCallCompletesLeavesADeadlock) {
  const ClusterReport report = spawn({.tp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const auto dp = r.connect(GroupKind::kDp);
    const auto world = r.connect(GroupKind::kWorld);
    const Tensor values = r.tensor({1});
    const CollectiveCall call{.label = "test.abandoned",
                              .kind = CollectiveKind::kAllReduce,
                              .input = values.buffer(),
                              .output = values.buffer()};
    if (r.rank.value == 0) {
      tp->submit({&call, 1});
      run_call(*world, {.label = "test.ready", .kind = CollectiveKind::kBarrier});
      return;  // its tensor is freed before the other rank's call
    }
    run_call(*world, {.label = "test.ready", .kind = CollectiveKind::kBarrier});
    const Ticket never = r.connect(GroupKind::kTpDp)->submit({&call, 1});
    never.source->wait(never.sequence, {}, "test.wait");
  });
  ASSERT_EQ(report.findings.size(), 1U) << to_text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kDeadlock);
}

TEST_P(Deadlock, AReportOfALargeWorldIsShort) {
  const int world = GetParam() == RankHost::kFibers ? 1024 : 64;
  const ClusterReport report = spawn({.tp = world / 2, .dp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    if (r.rank.value % 2 == 1) return;
    run_call(*tp, {.label = "test.barrier", .kind = CollectiveKind::kBarrier});
  });
  ASSERT_EQ(report.findings.size(), 1U);
  const std::string& message = report.findings[0].message;
  EXPECT_LT(message.size(), 8000U) << message;
  EXPECT_NE(message.find("more ranks"), std::string::npos) << message;
}

TEST(DeadlockReport, IsReadyWithinAMillisecondAfterTheLastRankBlocks) {
  using Clock = std::chrono::steady_clock;
  double best_seconds = 1.0;
  for (int i = 0; i < 20; ++i) {
    Clock::time_point blocked;
    Clock::time_point reported = Clock::time_point::max();
    spawn_ranks(8, [&](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      if (r.rank.value == 5) return;
      try {
        blocked = Clock::now();
        run_call(*tp, {.label = "test.barrier", .kind = CollectiveKind::kBarrier});
      } catch (const RankCancelled&) {
        // Ranks are cancelled once the report is made; the first to know is the earliest.
        reported = std::min(reported, Clock::now());
        throw;
      }
    });
    best_seconds =
        std::min(best_seconds, std::chrono::duration<double>(reported - blocked).count());
  }
  EXPECT_LT(best_seconds, 1e-3);
}

}  // namespace
}  // namespace lockstep::test
