// What trials over NCCL end in when a rank does not do its part: who is named, that it ends in
// time, and that the process can go on with new threads.
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/nccl/transport.h"
#include "core/base/errors.h"
#include "tests/support/device_memory.h"
#include "tests/support/message_calls.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using backends::TrialOutcome;
using std::chrono::milliseconds;

CollectiveCall sum(std::string_view label, const Tensor& x) {
  return {.label = label, .input = x.buffer(), .output = x.buffer()};
}

bool tells(const TrialOutcome& outcome, std::string_view text) {
  return to_text(outcome).find(text) != std::string::npos;
}

void expect_named(const TrialOutcome& outcome, FindingKind kind, int rank) {
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings[0].kind, kind) << to_text(outcome);
  EXPECT_EQ(outcome.findings[0].ranks, (std::vector<Rank>{{rank}})) << to_text(outcome);
}

void expect_that_the_next_trial_works(int size) {
  const TrialOutcome outcome = run_nccl_ranks(size, [size](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.tensor({1.0});
    run_call(*tp, sum("test.next", x));
    EXPECT_EQ(values_of(r.device, x)[0], size);
  });
  EXPECT_TRUE(outcome.findings.empty()) << "the next trial: " << to_text(outcome);
}

// All but rank 1 enter a call that rank 1 has submitted, so that it starts; `leave` is what rank 1
// does then in place of its part. `others_left` counts down when the others have been freed.
struct LeftCall {
  std::latch submitted{1};
  std::latch others_left;
  std::string told = {};  // to rank 0, where NCCL's own error ended it

  explicit LeftCall(int size) : others_left(size - 1) {}

  void run(TestRank& r, const std::function<void()>& leave) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.tensor({1.0});
    run_call(*tp, sum("test.first", x));
    const CollectiveCall call = sum("test.left", x);
    if (r.rank.value == 1) {
      tp->submit({&call, 1});
      flush(r, *tp);
      submitted.count_down();
      return leave();
    }
    submitted.wait();
    try {
      const Ticket ticket = tp->submit({&call, 1});
      ticket.source->wait(ticket.sequence, {}, "test.wait");
      values_of(r.device, x);
    } catch (const RankCancelled&) {
      others_left.count_down();
      throw;
    } catch (const backends::NcclError& error) {
      if (r.rank.value == 0) told = error.what();
      others_left.count_down();
      throw;
    }
  }
};

TEST(NcclFailure, OfAThreadThatEndsWithoutAWordNamesItsRank) {
  for (const int size : {2, 8}) {
    LeftCall left(size);
    const TrialOutcome outcome =
        run_nccl_ranks(size, [&](TestRank& r) { left.run(r, [] { throw EndsWithoutAWord{}; }); });
    expect_named(outcome, FindingKind::kLost, 1);
    EXPECT_TRUE(tells(outcome, "its thread ended")) << to_text(outcome);
    expect_that_the_next_trial_works(size);
  }
}

TEST(NcclFailure, OfARankThatStallsNamesIt) {
  for (const int size : {2, 8}) {
    LeftCall left(size);
    const TrialOutcome outcome =
        run_nccl_ranks(size,
                       [&](TestRank& r) { left.run(r, [&] { left.others_left.wait(); }); },
                       {.stall = milliseconds(1500)});
    expect_named(outcome, FindingKind::kStalled, 1);
    expect_that_the_next_trial_works(size);
  }
}

TEST(NcclFailure, OfARankThatThrowsInTheMidstOfACallNamesItAndItsError) {
  LeftCall left(4);
  const TrialOutcome outcome = run_nccl_ranks(
      4, [&](TestRank& r) { left.run(r, [] { throw std::runtime_error("a planted error"); }); });
  expect_named(outcome, FindingKind::kRankError, 1);
  EXPECT_TRUE(tells(outcome, "a planted error")) << to_text(outcome);
  expect_that_the_next_trial_works(4);
}

TEST(NcclFailure, OfACallThatOneRankLeavesByReturningNamesIt) {
  LeftCall left(4);
  const TrialOutcome outcome = run_nccl_ranks(4, [&](TestRank& r) { left.run(r, [] {}); });
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_TRUE(tells(outcome, "rank 1 (tp 1)")) << to_text(outcome);
  expect_that_the_next_trial_works(4);
}

TEST(NcclFailure, OfWorkThatDoesNotMoveNamesTheCallAfterTheTimeOut) {
  LeftCall left(2);
  const TrialOutcome outcome =
      run_nccl_ranks(2,
                     [&](TestRank& r) { left.run(r, [&] { left.others_left.wait(); }); },
                     {.timeout = milliseconds(500)});
  EXPECT_TRUE(left.told.starts_with("rank 0: all_reduce 'test.left' on tp#0 {0, 1} does not "))
      << left.told;
  EXPECT_NE(left.told.find("NCCL has not moved for 500 ms"), std::string::npos) << left.told;
  EXPECT_TRUE(tells(outcome, "test.left")) << to_text(outcome);
  expect_that_the_next_trial_works(2);
}

// The others have enqueued their parts, and wait for what they read: there too they are freed.
TEST(NcclFailure, EndsAReadOfTheHostWhenTheTrialIsOver) {
  LeftCall left(2);
  const TrialOutcome outcome =
      run_nccl_ranks(2,
                     [&](TestRank& r) { left.run(r, [&] { left.others_left.wait(); }); },
                     {.stall = milliseconds(1500), .apart = true});
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_TRUE(tells(outcome, "rank 1 (tp 1)")) << to_text(outcome);
  EXPECT_EQ(left.told, "") << "the trial's end came first";
  expect_that_the_next_trial_works(2);
}

TEST(NcclFailure, EndsAReadOfTheHostAtTheTimeOutAndNamesTheOldestCall) {
  LeftCall left(2);
  const TrialOutcome outcome =
      run_nccl_ranks(2,
                     [&](TestRank& r) { left.run(r, [&] { left.others_left.wait(); }); },
                     {.timeout = milliseconds(500), .apart = true});
  EXPECT_NE(left.told.find("rank 0: all_reduce 'test.left' on tp#0 {0, 1} does not "),
            std::string::npos)
      << left.told;
  EXPECT_FALSE(outcome.findings.empty());
  expect_that_the_next_trial_works(2);
}

TEST(NcclFailure, OfARankThatCallsSomethingElseNamesIt) {
  const TrialOutcome outcome = run_nccl_ranks(4, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.tensor({1.0, 2.0, 3.0, 4.0});
    run_call(*tp, sum("test.first", x));
    CollectiveCall call = sum("test.sum", x);
    if (r.rank.value == 2) call.kind = CollectiveKind::kAllToAll;
    const Tensor y = r.empty(4);
    call.output = y.buffer();
    run_call(*tp, call);
  });
  expect_named(outcome, FindingKind::kMismatch, 2);
  EXPECT_TRUE(tells(outcome, "all_to_all")) << to_text(outcome);
  expect_that_the_next_trial_works(4);
}

// A rank that comes to a trial and ends before NCCL is set up: the others do not wait for it.
TEST(NcclFailure, OfAThreadThatEndsBeforeTheSetUpNamesItsRank) {
  ASSERT_EQ(prepare_nccl_ranks(), "");
  const Mesh mesh(layout_of({.tp = 4}));
  Gpu gpu(0);
  backends::NcclProcess process;
  const MakeServer make_server = [&](backends::CoordinatorClient& client, int) -> ServeOrder {
    const auto connections = std::make_shared<backends::NcclConnections>(
        process, client, gpu, backends::NcclConnections::Options{.shares_gpu = true});
    return [&, connections](const backends::TrialOrder& order) {
      if (order.rank.value == 3) throw EndsWithoutAWord{};
      CudaDevice device(gpu);
      backends::make_nccl_transport(
          client, *connections, {.order = order, .mesh = mesh, .device = device});
    };
  };
  const TrialOutcome outcome = run_coordinated_ranks(mesh, make_server, {.one_process = true});
  expect_named(outcome, FindingKind::kLost, 3);
  expect_that_the_next_trial_works(4);
}

TEST(NcclFailure, OfATicketThatNobodyWaitsForIsFound) {
  const TrialOutcome outcome = run_nccl_ranks(2, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor x = r.tensor({1.0});
    const CollectiveCall call = sum("test.forgotten", x);
    tp->submit({&call, 1});
  });
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::kPending) << to_text(outcome);
  EXPECT_TRUE(tells(outcome, "test.forgotten"));
  expect_that_the_next_trial_works(2);
}

}  // namespace
}  // namespace lockstep::test
