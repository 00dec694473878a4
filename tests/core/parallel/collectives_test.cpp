// Blocking collectives on tensors.
#include "core/parallel/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/errors.h"
#include "core/ops/host.h"
#include "tests/support/rank_fixture.h"
#include "tests/support/recording_device.h"

namespace lockstep {
namespace {

using test::layout_of;
using test::spawn_contexts;
using test::values_of;

Tensor pair(const RankContext& context, double first, double second) {
  return reals_from_host(context.ops, DType::kF64, std::vector{first, second}, {2}, "test");
}

TEST(Collectives, AllReduceInPlaceAndIntoANewTensor) {
  const auto report = spawn_contexts(layout_of({.tp = 3}), [](const RankContext& context) {
    const double r = context.rank.value;
    const Tensor x = pair(context, r, -r);
    const Tensor sum = all_reduced(context, {.group = GroupKind::kTp, .label = "a"}, x);
    EXPECT_EQ(values_of(sum), (std::vector{3.0, -3.0}));
    EXPECT_EQ(values_of(x), (std::vector{r, -r}));
    all_reduce(context, {.group = GroupKind::kTp, .label = "b"}, x, ReduceOp::kMax);
    EXPECT_EQ(values_of(x), (std::vector{2.0, 0.0}));
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Collectives, RowsGatherInTheGroupsOrderAndScatterBackAsSums) {
  const auto report = spawn_contexts(layout_of({.tp = 2, .dp = 2}), [](const RankContext& context) {
    const double r = context.rank.value;
    const double peer = r < 2 ? r + 2 : r - 2;
    const Tensor all =
        all_gather_rows(context, {.group = GroupKind::kDp, .label = "a"}, pair(context, r, 10 * r));
    const double low = std::min(r, peer);
    EXPECT_EQ(values_of(all), (std::vector{low, 10 * low, low + 2, 10 * low + 20}));
    const Tensor own = reduce_scatter_rows(context, {.group = GroupKind::kDp, .label = "b"}, all);
    EXPECT_EQ(values_of(own), (std::vector{2 * r, 20 * r}));
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Collectives, RowsOfAnAllToAllGoToTheRankOfTheirPlace) {
  const Layout layout = layout_of({.tp = 2, .cp = 3});
  const auto report = spawn_contexts(layout, [](const RankContext& context) {
    const int r = context.group_rank(GroupKind::kCp).value;
    std::vector<double> sent;
    std::vector<double> expected;
    for (int peer = 0; peer < 3; ++peer) {
      sent.push_back(100 * context.rank.value + peer);
      expected.push_back(100 * context.mesh.group_of(GroupKind::kCp, context.rank)
                                   ->ranks.at(static_cast<std::size_t>(peer))
                                   .value +
                         r);
    }
    const Tensor x = reals_from_host(context.ops, DType::kF64, sent, {3, 1}, "test");
    const CollectiveSite site{.group = GroupKind::kCp, .label = "a"};
    EXPECT_EQ(values_of(all_to_all_rows(context, site, x)), expected);
    EXPECT_EQ(values_of(x), sent);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Collectives, AnAllToAllNeedsARowForEachRank) {
  const auto report = spawn_contexts(layout_of({.cp = 3}), [](const RankContext& context) {
    EXPECT_THROW(
        all_to_all_rows(context, {.group = GroupKind::kCp, .label = "a"}, pair(context, 1, 2)),
        InternalError);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

// Of 2 x 3 ranks with neighbours 2 apart, so that a ring is no run of ranks.
TEST(Collectives, TensorsOnARingComeFromTheRankBefore) {
  const Layout layout = layout_of({.tp = 2, .cp = 3});
  const auto report = spawn_contexts(layout, [](const RankContext& context) {
    const double own = context.rank.value;
    const double before = own < 2 ? own + 4 : own - 2;
    const std::vector<Tensor> sent{pair(context, own, 1), pair(context, 10 * own, 2)};
    const CollectiveSite site{.group = GroupKind::kCp, .label = "a"};
    const RingPass pass = pass_on(context, site, sent);
    const std::vector<Tensor> received = wait_for_pass(context, site, pass);
    ASSERT_EQ(received.size(), 2U);
    EXPECT_EQ(values_of(received[0]), (std::vector{before, 1.0}));
    EXPECT_EQ(values_of(received[1]), (std::vector{10 * before, 2.0}));
    EXPECT_EQ(values_of(sent[0]), (std::vector{own, 1.0})) << "what is sent stays";
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Collectives, AsManyPassesAsARingHasRanksLeadHome) {
  const auto report = spawn_contexts(layout_of({.cp = 4}), [](const RankContext& context) {
    const CollectiveSite site{.group = GroupKind::kCp, .label = "a"};
    std::vector<Tensor> at_hand{pair(context, context.rank.value, 7)};
    for (int step = 0; step < 4; ++step) {
      EXPECT_EQ(values_of(at_hand[0])[0], (context.rank.value + 4 - step) % 4) << step;
      at_hand = wait_for_pass(context, site, pass_on(context, site, at_hand));
    }
    EXPECT_EQ(values_of(at_hand[0]), (std::vector{double(context.rank.value), 7.0}));
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Collectives, ACommunicatorForAGroupOfOneIsRefused) {
  const auto report = spawn_contexts(layout_of({.tp = 2}), [](const RankContext& context) {
    EXPECT_THROW(context.communicators.of(GroupKind::kDp), InternalError);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Collectives, TheStreamOfTheContextWaits) {
  const auto report = spawn_contexts(layout_of({.tp = 2}), [](const RankContext& context) {
    test::RecordingDevice device;
    const RankContext on_stream{
        .rank = context.rank,
        .mesh = context.mesh,
        .ops = {.device = device, .kernels = context.ops.kernels, .stream = {2}},
        .communicators = context.communicators,
        .mappings = context.mappings};
    const Tensor x = pair(on_stream, 1.0, 2.0);
    all_reduce(on_stream, {.group = GroupKind::kTp, .label = "a"}, x);
    EXPECT_EQ(values_of(x), (std::vector{2.0, 4.0}));
    EXPECT_EQ(device.seen().back().kind, LaunchKind::kWait);
    EXPECT_EQ(device.seen().back().stream, Stream{2});
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

}  // namespace
}  // namespace lockstep
