// Messages over NCCL: both directions in one submit, and to oneself.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/device_memory.h"
#include "tests/support/message_calls.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using backends::TrialOutcome;

class NcclRings : public testing::TestWithParam<int> {};

TEST_P(NcclRings, GoBothWaysInOneSubmit) {
  const int size = GetParam();
  const TrialOutcome outcome = run_nccl_ranks(size, [size](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const int next = (r.rank.value + 1) % size;
    const int previous = (r.rank.value + size - 1) % size;
    for (int round = 0; round < 5; ++round) {
      const double mine = r.rank.value + 0.5 + 100 * round;
      const Tensor x = r.tensor({mine});
      const Tensor from_previous = r.empty(1);
      const Tensor from_next = r.empty(1);
      const std::vector<CollectiveCall> calls{send(x, next),
                                              send(x, previous),
                                              receive(from_previous, previous),
                                              receive(from_next, next)};
      wait(tp->submit(calls));
      EXPECT_EQ(values_of(r.device, from_previous)[0], previous + 0.5 + 100 * round);
      EXPECT_EQ(values_of(r.device, from_next)[0], next + 0.5 + 100 * round);
    }
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

INSTANTIATE_TEST_SUITE_P(Sizes, NcclRings, testing::Values(2, 4, 16));

TEST(NcclMessages, ToOneselfArriveInOrderAlsoWhenTheSendIsNotWaitedForYet) {
  const TrialOutcome outcome = run_nccl_ranks(2, [](TestRank& r) {
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
    EXPECT_EQ(values_of(r.device, got_first)[0], 1.0);
    wait(tp->submit({&receive_second, 1}));
    EXPECT_EQ(values_of(r.device, got_second)[1], 2.0);
    wait(sent_second);
    wait(sent_first);
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

// A pipeline's way: each stage adds to what the one before has sent, many in flight.
TEST(NcclMessages, PassThroughEightStagesInOrder) {
  constexpr int kNumMicroBatches = 6;
  const TrialOutcome outcome = run_nccl_ranks(layout_of({.pp = 8}), [](TestRank& r) {
    const auto pp = r.connect(GroupKind::kPp);
    std::vector<Tensor> kept;
    std::vector<CollectiveCall> sends(kNumMicroBatches);
    std::vector<Ticket> tickets;
    for (int i = 0; i < kNumMicroBatches; ++i) {
      double value = i;
      if (r.rank.value > 0) {
        const Tensor x = r.empty(1);
        const CollectiveCall from_before = receive(x, r.rank.value - 1);
        wait(pp->submit({&from_before, 1}));
        value = values_of(r.device, x)[0] + 10;
      }
      EXPECT_EQ(value, i + 10 * r.rank.value);
      if (r.rank.value == 7) continue;
      kept.push_back(r.tensor({value}));
      sends[static_cast<std::size_t>(i)] = send(kept.back(), r.rank.value + 1);
      tickets.push_back(pp->submit({&sends[static_cast<std::size_t>(i)], 1}));
    }
    for (const Ticket& ticket : tickets) wait(ticket);
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

}  // namespace
}  // namespace lockstep::test
