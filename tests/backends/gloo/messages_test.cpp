// Messages over Gloo: both directions at once, to oneself, between tickets waited for out of order.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/gloo_ranks.h"

namespace lockstep::test {
namespace {

using backends::TrialOutcome;

CollectiveCall send(const Tensor& input, int peer, std::int64_t tag = 0) {
  return {.label = "test.send",
          .kind = CollectiveKind::kSend,
          .input = input.buffer(),
          .peer = {peer},
          .tag = tag};
}

CollectiveCall receive(const Tensor& output, int peer, std::int64_t tag = 0) {
  return {.label = "test.receive",
          .kind = CollectiveKind::kRecv,
          .output = output.buffer(),
          .peer = {peer},
          .tag = tag};
}

void wait(const Ticket& ticket) { ticket.source->wait(ticket.sequence, {}, "test.wait"); }

TEST(GlooMessages, OfOneSubmitGoBothWaysAroundARing) {
  const TrialOutcome outcome = run_gloo_ranks(4, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const int next = (r.rank.value + 1) % 4;
    const int previous = (r.rank.value + 3) % 4;
    const Tensor x = r.tensor({r.rank.value + 0.5});
    const Tensor from_previous = r.empty(1);
    const Tensor from_next = r.empty(1);
    const std::vector<CollectiveCall> calls{send(x, next),
                                            send(x, previous),
                                            receive(from_previous, previous),
                                            receive(from_next, next)};
    wait(tp->submit(calls));
    EXPECT_EQ(values_of(from_previous)[0], previous + 0.5);
    EXPECT_EQ(values_of(from_next)[0], next + 0.5);
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

TEST(GlooMessages, ToOneselfArriveInOrderAlsoWhenTheSendIsNotWaitedForYet) {
  const TrialOutcome outcome = run_gloo_ranks(2, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor first = r.tensor({1.0});
    const Tensor second = r.tensor({2.0, 2.0});
    const Tensor got_first = r.empty(1);
    const Tensor got_second = r.empty(2);
    const CollectiveCall send_first = send(first, r.rank.value);
    const CollectiveCall send_second = send(second, r.rank.value);
    const CollectiveCall receive_first = receive(got_first, r.rank.value);
    const CollectiveCall receive_second = receive(got_second, r.rank.value);
    const Ticket sent_first = tp->submit({&send_first, 1});
    const Ticket sent_second = tp->submit({&send_second, 1});
    wait(tp->submit({&receive_first, 1}));
    EXPECT_EQ(values_of(got_first)[0], 1.0);
    wait(tp->submit({&receive_second, 1}));
    EXPECT_EQ(values_of(got_second)[1], 2.0);
    wait(sent_second);
    wait(sent_first);
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

// Rank 0 waits for its message first, rank 1 for the sum: whichever is due first, both are done.
TEST(GlooMessages, AndCollectivesOfSeveralGroupsAreWaitedForInAnyOrder) {
  const TrialOutcome outcome = run_gloo_ranks(layout_of({.tp = 2, .dp = 2}), [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const auto dp = r.connect(GroupKind::kDp);
    const auto world = r.connect(GroupKind::kWorld);
    const Tensor x = r.tensor({1.0 + r.rank.value});
    const Tensor tp_sum = r.empty(1);
    const Tensor dp_sum = r.empty(1);
    const Tensor world_sum = r.empty(1);
    const Tensor got = r.empty(1);
    const int me = tp->group().rank_of(r.rank)->value;
    const std::vector<CollectiveCall> mixed{
        {.label = "test.tp", .input = x.buffer(), .output = tp_sum.buffer()},
        me == 0 ? send(x, 1, 5) : receive(got, 0, 5)};
    const CollectiveCall over_dp{
        .label = "test.dp", .input = x.buffer(), .output = dp_sum.buffer()};
    const CollectiveCall over_world{
        .label = "test.world", .input = x.buffer(), .output = world_sum.buffer()};
    const std::vector<Ticket> tickets{
        tp->submit(mixed), dp->submit({&over_dp, 1}), world->submit({&over_world, 1})};
    for (std::size_t i = 0; i < 3; ++i) {
      wait(tickets[(i + static_cast<std::size_t>(r.rank.value)) % 3]);
    }
    EXPECT_EQ(values_of(world_sum)[0], 10.0);
    EXPECT_EQ(values_of(tp_sum)[0], r.rank.value < 2 ? 3.0 : 7.0);
    EXPECT_EQ(values_of(dp_sum)[0], r.rank.value % 2 == 0 ? 4.0 : 6.0);
    if (me == 1) {
      EXPECT_EQ(values_of(got)[0], static_cast<double>(r.rank.value));
    }
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

}  // namespace
}  // namespace lockstep::test
