// Messages over Gloo: both directions in one submit, and to oneself.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/gloo_ranks.h"
#include "tests/support/message_calls.h"

namespace lockstep::test {
namespace {

using backends::TrialOutcome;

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

}  // namespace
}  // namespace lockstep::test
