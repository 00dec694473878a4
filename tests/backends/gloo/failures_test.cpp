// What Gloo's trials end in: a transfer that does not move, a call that a rank leaves, a forgotten
// ticket.
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <vector>

#include "backends/gloo/transport.h"
#include "tests/support/gloo_ranks.h"
#include "tests/support/message_calls.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using backends::TrialOutcome;

CollectiveCall sum(std::string_view label, const Tensor& x) {
  return {.label = label, .input = x.buffer(), .output = x.buffer()};
}

bool tells(const TrialOutcome& outcome, std::string_view text) {
  return to_text(outcome).find(text) != std::string::npos;
}

// Rank 1 has submitted its call, so that it starts as soon as rank 0 comes, and then does something
// else until rank 0 has given up.
TEST(GlooFailure, OfATransferThatDoesNotMoveNamesTheCall) {
  std::latch submitted(1);
  std::latch given_up(1);
  std::string told;
  const auto program = [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.tensor({1.0});
    run_call(*tp, sum("test.first", x));
    const CollectiveCall call = sum("test.late", x);
    if (r.rank.value == 1) {
      tp->submit({&call, 1});
      flush(r, *tp);
      submitted.count_down();
      return given_up.wait();
    }
    submitted.wait();
    const Ticket ticket = tp->submit({&call, 1});
    try {
      ticket.source->wait(ticket.sequence, {}, "test.wait");
    } catch (const backends::GlooError& error) {
      told = error.what();
      given_up.count_down();
      throw;
    }
  };
  const TrialOutcome outcome =
      run_gloo_ranks(2, program, {.timeout = std::chrono::milliseconds(300)});
  EXPECT_TRUE(told.starts_with(
      "rank 0: all_reduce 'test.late' on tp#0 {0, 1}: Gloo could not move the data: Timed out "
      "waiting 300ms"))
      << told;
  EXPECT_TRUE(tells(outcome, "test.late")) << to_text(outcome);
}

// The others may stand in the call that rank 1 has submitted and leaves without waiting for it.
TEST(GlooFailure, OfACallThatOneRankLeavesInItsMidstNamesThatRank) {
  const TrialOutcome outcome = run_gloo_ranks(3, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.tensor({1.0});
    run_call(*tp, sum("test.first", x));
    const CollectiveCall call = sum("test.second", x);
    const Ticket ticket = tp->submit({&call, 1});
    if (r.rank.value == 1) return flush(r, *tp);
    ticket.source->wait(ticket.sequence, {}, "test.wait");
  });
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_TRUE(tells(outcome, "rank 1 (tp 1)")) << to_text(outcome);
}

TEST(GlooFailure, OfATicketThatNobodyWaitsForIsFound) {
  const TrialOutcome outcome = run_gloo_ranks(2, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.tensor({1.0});
    const CollectiveCall call = sum("test.forgotten", x);
    tp->submit({&call, 1});
  });
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::kPending) << to_text(outcome);
  EXPECT_TRUE(tells(outcome, "test.forgotten"));
}

}  // namespace
}  // namespace lockstep::test
