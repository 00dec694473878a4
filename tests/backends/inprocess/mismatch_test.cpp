// Whom a mismatch names, and in which words where two members differ.
#include <gtest/gtest.h>

#include "tests/backends/inprocess/findings_fixture.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using sim::ClusterReport;

class Mismatch : public FindingsTest {};

INSTANTIATE_TEST_SUITE_P(OnBothHosts, Mismatch, testing::ValuesIn(kBothHosts), host_name);

TEST_P(Mismatch, ASkippedCallIsToldByTheCallMadeInItsPlace) {
  const ClusterReport report = spawn({.tp = 3}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor values = r.tensor({1});
    CollectiveCall call{.label = "layer.first",
                        .kind = CollectiveKind::kAllReduce,
                        .input = values.buffer(),
                        .output = values.buffer()};
    if (r.rank.value != 1) run_call(*tp, call);
    call.label = "layer.second";
    run_call(*tp, call);
  });
  expect_only(report,
              FindingKind::kMismatch,
              "rank 1 (tp 1) calls all_reduce 'layer.second' where the others call all_reduce "
              "'layer.first' on tp#0 {0, 1, 2}");
  EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{1}});
  EXPECT_EQ(report.findings[0].label, "layer.first");
}

TEST_P(Mismatch, OfTwoRanksTheOneThatIsAheadHasSkipped) {
  for (const int skipper : {0, 1}) {
    const ClusterReport report = spawn({.tp = 2}, [skipper](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      std::vector<Ticket> tickets;
      for (const std::string_view label : {"bucket.0", "bucket.1", "bucket.2"}) {
        if (r.rank.value == skipper && label == "bucket.0") continue;
        const CollectiveCall call{.label = label, .kind = CollectiveKind::kBarrier};
        tickets.push_back(tp->submit({&call, 1}));
      }
      for (const Ticket& ticket : tickets) ticket.source->wait(ticket.sequence, {}, "bucket.wait");
    });
    ASSERT_FALSE(report.findings.empty());
    expect_only(report, FindingKind::kMismatch, "skipped 'bucket.0'");
    EXPECT_EQ(report.findings[0].ranks[0], Rank{skipper}) << to_text(report);
  }
}

// Rank 0 skips; it is no majority that tells, but what the other group of the kind has called.
TEST_P(Mismatch, OfTwoRanksTheOneThatDiffersFromOtherGroupsIsAtFault) {
  for (const int skipper : {0, 1}) {
    const ClusterReport report = spawn({.tp = 2, .dp = 2}, [skipper](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      const auto world = r.connect(GroupKind::kWorld);
      const bool first_group = r.rank.value < 2;
      // The second group is through before the first begins.
      if (first_group) run_call(*world, {.label = "test.turn", .kind = CollectiveKind::kBarrier});
      for (const std::string_view label : {"layer.0", "layer.1", "layer.2"}) {
        if (r.rank.value == skipper && label == "layer.0") continue;
        run_call(*tp, {.label = label, .kind = CollectiveKind::kBarrier});
      }
      if (!first_group) run_call(*world, {.label = "test.turn", .kind = CollectiveKind::kBarrier});
    });
    expect_only(report,
                FindingKind::kMismatch,
                " calls barrier 'layer.0' on tp#0 {0, 1}: it has skipped 'layer.0'");
    EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{skipper}}) << to_text(report);
  }
}

TEST_P(Mismatch, OfTwoRanksTheOneThatDiffersFromEarlierRoundsIsAtFault) {
  for (const int skipper : {0, 1}) {
    const ClusterReport report = spawn({.tp = 2}, [skipper](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      for (int round = 0; round < 3; ++round) {
        for (const std::string_view label : {"layer.0", "layer.1", "layer.2"}) {
          if (r.rank.value == skipper && round == 2 && label == "layer.1") continue;
          run_call(*tp, {.label = label, .kind = CollectiveKind::kBarrier});
        }
      }
    });
    expect_only(report, FindingKind::kMismatch, "it has skipped 'layer.1'");
    EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{skipper}}) << to_text(report);
  }
}

TEST_P(Mismatch, OfTwoRanksWithNothingToGoByBothAreNamed) {
  const ClusterReport report = spawn({.tp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    run_call(*tp,
             {.label = r.rank.value == 0 ? "test.a" : "test.b", .kind = CollectiveKind::kBarrier});
  });
  expect_only(report, FindingKind::kMismatch, "rank 1 (tp 1) calls barrier 'test.b' where");
  EXPECT_EQ(report.findings[0].ranks, (std::vector<Rank>{Rank{0}, Rank{1}}));
}

TEST_P(Mismatch, OtherSplitsAreAMismatch) {
  const ClusterReport report = spawn_calls(2, [](TestRank& r, CollectiveCall& call) {
    // Static: the report is made after a rank may have ended.
    static const std::vector<std::int64_t> splits[] = {{3, 5}, {4, 4}};
    const auto me = static_cast<std::size_t>(r.rank.value);
    call.kind = CollectiveKind::kAllGather;
    call.output_splits = splits[me];
    call.input.count = splits[me][me];
    call.input.offset = me == 0 ? 0 : 4;
  });
  expect_only(report, FindingKind::kMismatch, "with splits [4, 4] where rank 0 (tp 0) has [3, 5]");
}

TEST_P(Mismatch, AllToAllPartsThatDoNotFitAreAMismatch) {
  const ClusterReport report = spawn({.tp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const std::vector<std::int64_t> sent{1, 3};
    const std::vector<std::int64_t> received{2, 2};
    const Tensor input = r.empty(4);
    const Tensor output = r.empty(4);
    run_call(*tp,
             {.label = "test.exchange",
              .kind = CollectiveKind::kAllToAll,
              .input = input.buffer(),
              .output = output.buffer(),
              .input_splits = sent,
              .output_splits = received});
  });
  expect_only(report,
              FindingKind::kMismatch,
              "in all_to_all 'test.exchange' rank 0 sends 1 elements to rank 0, which expects 2");
}

TEST_P(Mismatch, AMismatchThatNobodyWaitsForIsStillTold) {
  const ClusterReport report = spawn({.tp = 2}, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const CollectiveCall call{.label = r.rank.value == 0 ? "test.a" : "test.b",
                              .kind = CollectiveKind::kBarrier};
    tp->submit({&call, 1});
  });
  expect_only(report, FindingKind::kMismatch, "calls barrier 'test.");
}

}  // namespace
}  // namespace lockstep::test
