// Ranks are born, wait, throw and end; after any of it the process is clean.
#include "simulator/runtime/cluster.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/base/errors.h"
#include "simulator/runtime/rank_runner.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using sim::ClusterOptions;
using sim::ClusterReport;
using sim::RankHost;

class Cluster : public testing::TestWithParam<RankHost> {
 protected:
  ClusterOptions options() const { return {.host = GetParam()}; }
};

CollectiveCall barrier(std::string_view label) {
  return {.label = label, .kind = CollectiveKind::kBarrier};
}

TEST_P(Cluster, RunsEveryRankOnceAndReportsNothing) {
  std::vector<int> runs(6, 0);
  const ClusterReport report = spawn_ranks(
      6, [&](TestRank& r) { ++runs[static_cast<std::size_t>(r.rank.value)]; }, options());
  EXPECT_EQ(runs, std::vector<int>(6, 1));
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  EXPECT_EQ(report.num_calls, 0);
}

TEST_P(Cluster, CountsCallsAndMatches) {
  const ClusterReport report = spawn_ranks(
      4,
      [](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        for (int i = 0; i < 3; ++i) run_call(*tp, barrier("test.barrier"));
      },
      options());
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  EXPECT_EQ(report.num_calls, 12);
  EXPECT_EQ(report.num_matched, 12);
}

TEST_P(Cluster, ReportsARanksExceptionBeforeTheDeadlockThatItCauses) {
  const ClusterReport report = spawn_ranks(
      3,
      [](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        if (r.rank.value == 1) throw std::runtime_error("no such row");
        run_call(*tp, barrier("test.barrier"));
      },
      options());
  ASSERT_EQ(report.findings.size(), 2U) << to_text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kRankError);
  EXPECT_EQ(report.findings[0].message, "rank 1 (tp 1) threw: no such row");
  EXPECT_EQ(report.findings[1].kind, FindingKind::kDeadlock);
  EXPECT_EQ(report.findings[1].ranks, std::vector<Rank>{Rank{1}});
  EXPECT_NE(report.findings[1].message.find("threw: no such row"), std::string::npos);
  EXPECT_NE(report.findings[1].message.find("barrier 'test.barrier' on tp#0 {0, 1, 2}"),
            std::string::npos);
}

TEST_P(Cluster, NamesTheTypeOfWhatIsNoException) {
  const ClusterReport report = spawn_ranks(
      2, [](TestRank&) { throw std::string("text"); }, options());
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_NE(report.findings[0].message.find("basic_string"), std::string::npos) << to_text(report);
}

TEST_P(Cluster, UnwindsTheRanksOfADeadlock) {
  int num_destroyed = 0;
  struct Guard {
    int& count;
    ~Guard() { ++count; }
  };
  // One rank only has a guard, so that threads do not race for the counter.
  spawn_ranks(
      2,
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        if (r.rank.value == 1) return;
        const Guard guard{num_destroyed};
        run_call(*tp, barrier("test.barrier"));
      },
      options());
  EXPECT_EQ(num_destroyed, 1);
}

TEST_P(Cluster, CancelsARankThatSwallowsItsCancellationAtItsNextCall) {
  int num_cancelled = 0;
  const ClusterReport report = spawn_ranks(
      2,
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        if (r.rank.value == 1) return;
        for (int i = 0; i < 2; ++i) {
          try {
            run_call(*tp, barrier("test.barrier"));
          } catch (const RankCancelled&) {
            ++num_cancelled;
          }
        }
        run_call(*tp, barrier("test.never"));
      },
      options());
  EXPECT_EQ(num_cancelled, 2);
  ASSERT_EQ(report.findings.size(), 1U) << to_text(report);
  EXPECT_EQ(report.findings[0].label, "test.barrier");
}

TEST_P(Cluster, LetsADestructorWaitWhileItsRankUnwinds) {
  struct WaitsAtEnd {
    Communicator& communicator;
    ~WaitsAtEnd() { run_call(communicator, barrier("test.in_destructor")); }
  };
  const ClusterReport report = spawn_ranks(
      2,
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        if (r.rank.value == 1) return;
        const WaitsAtEnd last{*tp};
        throw std::runtime_error("first");
      },
      options());
  ASSERT_EQ(report.findings.size(), 1U) << to_text(report);
  EXPECT_EQ(report.findings[0].label, "test.in_destructor");
}

TEST_P(Cluster, RunsAgainAfterAThousandDeadlocks) {
  const int num_rounds = GetParam() == RankHost::kFibers ? 1000 : 100;
  for (int i = 0; i < num_rounds; ++i) {
    const ClusterReport report = spawn_ranks(
        layout_of({.tp = 2, .dp = 2}),
        [](TestRank& r) {
          const auto tp = r.connect(GroupKind::kTp);
          const auto dp = r.connect(GroupKind::kDp);
          const Tensor held = r.tensor({1.0, 2.0});
          run_call(r.rank.value == 1 ? *dp : *tp, barrier("test.barrier"));
        },
        options());
    ASSERT_EQ(report.findings.size(), 1U) << to_text(report);
    ASSERT_EQ(report.findings[0].kind, FindingKind::kDeadlock);
  }
  const ClusterReport report = spawn_ranks(
      4,
      [](TestRank& r) { run_call(*r.connect(GroupKind::kTp), barrier("test.last")); },
      options());
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
}

// The runtime's state of caught exceptions is per thread: without a copy for each fiber, the second
// rank's catch would end the first one's exception, and `throw;` would rethrow the wrong one.
TEST_P(Cluster, KeepsEachRanksExceptionWhileItWaitsInsideACatch) {
  std::vector<std::string> caught(3);
  const ClusterReport report = spawn_ranks(
      3,
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        const std::string mine = "error of rank " + std::to_string(r.rank.value);
        try {
          try {
            throw std::runtime_error(mine);
          } catch (const std::runtime_error&) {
            run_call(*tp, barrier("test.in_catch"));
            run_call(*tp, barrier("test.again"));
            throw;
          }
        } catch (const std::runtime_error& error) {
          caught[static_cast<std::size_t>(r.rank.value)] = error.what();
        }
      },
      options());
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  EXPECT_EQ(caught[0], "error of rank 0");
  EXPECT_EQ(caught[1], "error of rank 1");
  EXPECT_EQ(caught[2], "error of rank 2");
}

INSTANTIATE_TEST_SUITE_P(OnBothHosts,
                         Cluster,
                         testing::Values(RankHost::kFibers, RankHost::kThreads),
                         [](const auto& parameter) {
                           return parameter.param == RankHost::kFibers ? "Fibers" : "Threads";
                         });

std::vector<int> order_of_ranks(std::uint64_t seed) {
  std::vector<int> order;
  spawn_ranks(8,
              [&](TestRank& r) {
                const auto tp = r.connect(GroupKind::kTp);
                for (int i = 0; i < 4; ++i) {
                  order.push_back(r.rank.value);
                  run_call(*tp, barrier("test.barrier"));
                }
              },
              {.schedule_seed = seed});
  return order;
}

TEST(Schedule, OfSeedZeroIsFirstComeFirstServed) {
  const std::vector<int> order = order_of_ranks(0);
  EXPECT_EQ(std::vector<int>(order.begin(), order.begin() + 8),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Schedule, IsAFunctionOfItsSeed) {
  EXPECT_EQ(order_of_ranks(5), order_of_ranks(5));
  EXPECT_NE(order_of_ranks(5), order_of_ranks(6));
  EXPECT_NE(order_of_ranks(5), order_of_ranks(0));
}

// Four KiB a level; volatile, so that no frame is optimised away.
int descend(int num_levels) {
  volatile char frame[4096];
  frame[0] = 1;
  return num_levels == 0 ? 0 : descend(num_levels - 1) + frame[0];
}

TEST(FiberStack, FaultsWhenItOverflowsInsteadOfSpoilingItsNeighbour) {
  EXPECT_DEATH(spawn_ranks(2, [](TestRank&) { descend(1000); }), "");
}

// One frame that begins on the stack and ends far below it, written at its far end first.
int leap() {
  volatile char frame[280 * 1024];
  frame[0] = 1;
  return frame[0];
}

TEST(FiberStack, FaultsWhenOneFrameReachesPastItsEnd) {
  EXPECT_DEATH(spawn_ranks(2, [](TestRank&) { leap(); }), "");
}

TEST(FiberStack, HoldsTwoHundredKibibytesOfFrames) {
  std::vector<int> sums(3);
  spawn_ranks(3, [&](TestRank& r) {
    volatile char frame[200 * 1024];
    const auto tp = r.connect(GroupKind::kTp);
    for (std::size_t i = 0; i < sizeof(frame); i += 1024) frame[i] = 1;
    run_call(*tp, barrier("test.barrier"));
    for (std::size_t i = 0; i < sizeof(frame); i += 1024) {
      sums[static_cast<std::size_t>(r.rank.value)] += frame[i];
    }
  });
  EXPECT_EQ(sums, std::vector<int>(3, 200));
}

// As ranks on a GPU have it.
TEST(FiberStack, IsAsLargeAsWasAskedFor) {
  std::vector<int> sums(3);
  const auto body = [&](Rank rank) {
    volatile char frame[900 * 1024];
    for (std::size_t i = 0; i < sizeof(frame); i += 1024) frame[i] = 1;
    for (std::size_t i = 0; i < sizeof(frame); i += 1024) {
      sums[static_cast<std::size_t>(rank.value)] += frame[i];
    }
  };
  sim::make_fiber_runner(0, 4 * sim::kRankStackBytes)->run(3, {.body = body, .all_wait = [] {}});
  EXPECT_EQ(sums, std::vector<int>(3, 900));
}

TEST(LargeCluster, HoldsAThousandAndTwentyFourRanks) {
  const ClusterReport report = spawn_ranks(1024, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    for (int i = 0; i < 5; ++i) run_call(*tp, barrier("test.barrier"));
  });
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  EXPECT_EQ(report.num_matched, 5 * 1024);
}

}  // namespace
}  // namespace lockstep::test
