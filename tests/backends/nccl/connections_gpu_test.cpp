// Communicators outlive trials of the same threads, are made anew after a trial that went wrong,
// and are refused once they were given up.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/nccl/connections.h"
#include "tests/support/device_memory.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using backends::NcclConnections;
using backends::TrialOrder;
using backends::TrialOutcome;

struct SeenTrial {
  std::uint64_t number;
  int num_set_ups;  // so far
};

// A rank of a trial as the tests below see it.
struct Seat {
  const TrialOrder& order;
  const Mesh& mesh;
  NcclConnections& connections;
  backends::CoordinatorClient& client;
  Gpu& gpu;
};

void sum_over_world(const Seat& seat, bool waits) {
  CudaDevice device(seat.gpu);
  const auto transport = backends::make_nccl_transport(
      seat.client, seat.connections, {.order = seat.order, .mesh = seat.mesh, .device = device});
  const TestRank r{
      .rank = seat.order.rank, .transport = *transport, .device = device, .mesh = seat.mesh};
  for (const GroupKind kind : {GroupKind::kWorld, GroupKind::kTp, GroupKind::kDp}) {
    const auto communicator = r.connect(kind);
    const Tensor x = r.tensor({1.0});
    const CollectiveCall sum{.label = "test.sum", .input = x.buffer(), .output = x.buffer()};
    const Ticket ticket = communicator->submit({&sum, 1});
    if (!waits) return;
    ticket.source->wait(ticket.sequence, {}, "test.wait");
    EXPECT_EQ(values_of(device, x)[0], communicator->group().size());
  }
  device.finish();
}

// What each rank of tp 2, dp 2 has seen of the trials, by rank; the last one's outcome.
struct Seen {
  std::vector<std::vector<SeenTrial>> by_rank{4};
  TrialOutcome outcome;
};

Seen run_trials(int num_trials, const std::function<void(const Seat&)>& program) {
  Seen seen;
  if (const std::string why = prepare_nccl_ranks(); !why.empty()) {
    ADD_FAILURE() << why;
    return seen;
  }
  const Mesh mesh(layout_of({.tp = 2, .dp = 2}));
  SeenGpus gpus;
  backends::NcclProcess process;
  const MakeServer make_server = [&](backends::CoordinatorClient& client, int seat) -> ServeOrder {
    Gpu& gpu = gpus.of(seat);
    const auto connections = std::make_shared<NcclConnections>(
        process, client, gpu, NcclConnections::Options{.shares_gpu = true});
    return [&, connections](const TrialOrder& order) {
      program({.order = order,
               .mesh = mesh,
               .connections = *connections,
               .client = client,
               .gpu = gpu});
      seen.by_rank[static_cast<std::size_t>(order.rank.value)].push_back(
          {.number = order.number, .num_set_ups = connections->impl().num_set_ups()});
    };
  };
  seen.outcome = run_coordinated_ranks(
      mesh, make_server, {.num_trials = num_trials, .past_findings = true, .one_process = true});
  return seen;
}

// The world's, and one for each of tp, dp; other kinds cut the world as these do.
constexpr int kNumCommunicators = 3;

TEST(NcclConnections, AreKeptForTheNextTrial) {
  const Seen seen = run_trials(3, [](const Seat& seat) { sum_over_world(seat, true); });
  EXPECT_TRUE(seen.outcome.findings.empty()) << to_text(seen.outcome);
  for (const std::vector<SeenTrial>& trials : seen.by_rank) {
    ASSERT_EQ(trials.size(), 3U);
    for (const SeenTrial& trial : trials) EXPECT_EQ(trial.num_set_ups, kNumCommunicators);
  }
}

// In the first trial all ranks leave a call behind.
TEST(NcclConnections, AreMadeAnewAfterATrialThatDidNotEndWell) {
  const Seen seen =
      run_trials(3, [](const Seat& seat) { sum_over_world(seat, seat.order.number > 1); });
  EXPECT_TRUE(seen.outcome.findings.empty()) << to_text(seen.outcome);
  for (const std::vector<SeenTrial>& trials : seen.by_rank) {
    ASSERT_EQ(trials.size(), 3U);
    EXPECT_EQ(trials[0].num_set_ups, kNumCommunicators);
    EXPECT_EQ(trials[1].num_set_ups, 2 * kNumCommunicators);
    EXPECT_EQ(trials[2].num_set_ups, 2 * kNumCommunicators);
  }
}

TEST(NcclConnections, ThatWereGivenUpAreRefused) {
  const Seen seen = run_trials(2, [](const Seat& seat) {
    if (seat.order.number == 2) seat.connections.impl().abort();
    sum_over_world(seat, true);
  });
  EXPECT_NE(to_text(seen.outcome)
                .find("its communicators of NCCL were given up and cannot be used again"),
            std::string::npos)
      << to_text(seen.outcome);
}

TEST(NcclConnections, OfALoneRankAreNone) {
  const TrialOutcome outcome = run_nccl_ranks(1, [](TestRank& r) {
    const auto world = r.connect(GroupKind::kWorld);
    const Tensor x = r.tensor({3.0});
    const Tensor y = r.empty(1);
    run_call(*world, {.label = "test.sum", .input = x.buffer(), .output = y.buffer()});
    EXPECT_EQ(values_of(r.device, y)[0], 3.0);
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

// Sixteen ranks in several layouts,
// one after another in one process: what the ones before held is freed.
TEST(NcclConnections, AreMadeForOneLayoutAfterAnother) {
  for (const LayoutSizes& sizes : {LayoutSizes{.tp = 16},
                                   LayoutSizes{.tp = 2, .dp = 8},
                                   LayoutSizes{.tp = 4, .dp = 2, .pp = 2},
                                   LayoutSizes{.dp = 4, .pp = 4}}) {
    const TrialOutcome outcome = run_nccl_ranks(
        layout_of(sizes),
        [](TestRank& r) {
          for (const GroupKind kind : {GroupKind::kWorld, GroupKind::kTp, GroupKind::kDp}) {
            const auto communicator = r.connect(kind);
            const Tensor x = r.tensor({1.0});
            run_call(*communicator,
                     {.label = "test.sum", .input = x.buffer(), .output = x.buffer()});
            EXPECT_EQ(values_of(r.device, x)[0], communicator->group().size());
          }
        },
        {});
    EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
  }
}

}  // namespace
}  // namespace lockstep::test
