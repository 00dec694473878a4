// Connections outlive trials of the same processes, and no trial takes another's data.
#include "backends/gloo/connections.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "backends/coordinator/client.h"
#include "backends/coordinator/coordinator.h"
#include "backends/gloo/transport.h"
#include "core/base/errors.h"
#include "tests/support/gloo_ranks.h"

namespace lockstep::test {
namespace {

using backends::GlooConnections;
using backends::TrialOutcome;

TEST(GlooConnections, ServeOneTrialAfterAnother) {
  std::atomic<int> num_right{0};
  const TrialOutcome outcome = run_gloo_ranks(
      3,
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        const auto world = r.connect(GroupKind::kWorld);
        for (Communicator* communicator : {tp.get(), world.get()}) {
          const Tensor x = r.tensor({1.0 + r.rank.value});
          run_call(*communicator, {.label = "test.sum", .input = x.buffer(), .output = x.buffer()});
          if (values_of(x)[0] == 6.0) ++num_right;
        }
      },
      {.num_trials = 5});
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
  EXPECT_EQ(num_right, 5 * 3 * 2);
}

// In the first trial all ranks leave a call behind that had perhaps begun.
TEST(GlooConnections, ServeTheTrialAfterOneThatWasNotCarriedOut) {
  std::vector<int> trials(3, 0);
  const TrialOutcome outcome = run_gloo_ranks(
      3,
      [&](TestRank& r) {
        const int trial = ++trials[static_cast<std::size_t>(r.rank.value)];
        const auto tp = r.connect(GroupKind::kTp);
        const Tensor x = r.tensor({1.0 + r.rank.value});
        const CollectiveCall sum{.label = "test.sum", .input = x.buffer(), .output = x.buffer()};
        run_call(*tp, sum);
        EXPECT_EQ(values_of(x)[0], 6.0);
        if (trial == 1) tp->submit({&sum, 1});
      },
      {.num_trials = 3, .past_findings = true});
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
  EXPECT_EQ(trials, std::vector<int>(3, 3));
}

// Two processes and what each of them finds connected in each trial.
struct SeenConnections {
  std::vector<std::shared_ptr<::gloo::Context>> of_trial;  // kept: no two at one address
};

// `leaves`: the rank that ends the first trial with a call that was not carried out.
std::vector<SeenConnections> connections_of_three_trials(int leaves) {
  const Mesh mesh(layout_of({.tp = 2}));
  std::vector<SeenConnections> seen(2);
  std::vector<std::jthread> threads;
  backends::Coordinator coordinator({});
  std::vector<backends::SeatId> seats;
  for (int seat = 0; seat < 2; ++seat) {
    seats.push_back({.seat = seat, .generation = 1});
    threads.emplace_back([&seen, &mesh, seat, leaves, port = coordinator.port()] {
      backends::CoordinatorClient client(
          {.address = {.host = "127.0.0.1", .port = port}, .seat = seat, .generation = 1});
      GlooConnections connections(client, {});
      while (const auto order = client.next_trial()) {
        auto transport = backends::make_gloo_transport(client, connections, *order);
        const Group& tp = mesh.groups(GroupKind::kTp)[0];
        seen[static_cast<std::size_t>(seat)].of_trial.push_back(
            connections.impl().connection_of(tp.ranks).context);
        if (order->number == 1 && order->rank.value == leaves) {
          const CollectiveCall call{.label = "test.left", .kind = CollectiveKind::kBarrier};
          transport->connect(order->rank, tp)->submit({&call, 1});
        }
        transport.reset();
        client.returned({});
      }
    });
  }
  EXPECT_TRUE(coordinator.wait_for_seats(seats, std::chrono::seconds(20), [] { return false; }));
  for (int trial = 0; trial < 3; ++trial) {
    const TrialOutcome outcome =
        coordinator.run(mesh, seats, {}, {}, [](const backends::SeatId&) { return std::string(); });
    EXPECT_EQ(outcome.findings.empty(), leaves < 0 || trial > 0) << to_text(outcome);
  }
  coordinator.say_goodbye(2, std::chrono::seconds(1));
  threads.clear();
  return seen;
}

TEST(GlooConnections, AreTheSameInTheNextTrial) {
  for (const SeenConnections& seen : connections_of_three_trials(-1)) {
    EXPECT_EQ(seen.of_trial[0], seen.of_trial[1]);
    EXPECT_EQ(seen.of_trial[1], seen.of_trial[2]);
  }
}

TEST(GlooConnections, AreMadeAnewByBothEndsWhereOneWasLeftInAnUnknownState) {
  for (const SeenConnections& seen : connections_of_three_trials(1)) {
    EXPECT_NE(seen.of_trial[0], seen.of_trial[1]);
    EXPECT_EQ(seen.of_trial[1], seen.of_trial[2]);
  }
}

TEST(GlooConnections, RefuseAnAddressThatThisMachineDoesNotHave) {
  backends::Coordinator coordinator({});
  std::jthread accepts([&] {
    coordinator.wait_for_seats(
        {{.seat = 0, .generation = 1}}, std::chrono::seconds(20), [] { return false; });
  });
  backends::CoordinatorClient client(
      {.address = {.host = "127.0.0.1", .port = coordinator.port()}, .seat = 0, .generation = 1});
  try {
    const GlooConnections connections(client, {.address = "192.0.2.1"});
    FAIL() << "192.0.2.1 belongs to nobody";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("192.0.2.1"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::test
