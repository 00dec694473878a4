// Under which number ranks may use again what they have connected, and how a rank that does not
// wait learns that its trial is over.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "tests/backends/coordinator/worlds.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using backends::CoordinatorClient;
using backends::SeatId;
using backends::TrialOrder;
using backends::TrialOutcome;

// Seats that do as they are told: a trial is its seats and whether rank 0 fails in it.
class Lineups : public testing::Test {
 protected:
  ~Lineups() override { coordinator_.say_goodbye(0, std::chrono::seconds(20)); }

  void come(const SeatId& id) {
    threads_.emplace_back([id, port = coordinator_.port()] {
      CoordinatorClient client({.address = {.host = "127.0.0.1", .port = port},
                                .seat = id.seat,
                                .generation = id.generation});
      while (const auto order = client.next_trial()) {
        if (order->request == "fail" && order->rank == Rank{0}) {
          client.threw("a planted error");
        } else {
          client.returned(std::to_string(order->lineup));
        }
      }
    });
    ASSERT_TRUE(coordinator_.wait_for_seats({id}, std::chrono::seconds(20), {}));
  }

  // What the ranks were told; one that fails tells nothing.
  std::set<std::string> trial(const std::vector<SeatId>& seats, const std::string& request = "") {
    const Mesh mesh(layout_of({.tp = static_cast<int>(seats.size())}));
    const TrialOutcome outcome =
        coordinator_.run(mesh, seats, request, {}, [](const SeatId&) { return std::string(); });
    EXPECT_EQ(outcome.findings.empty(), request != "fail") << messages(outcome);
    std::set<std::string> told(outcome.results.begin(), outcome.results.end());
    told.erase("");
    return told;
  }

  std::vector<std::jthread> threads_;
  backends::Coordinator coordinator_{{}};
};

TEST_F(Lineups, KeepTheirNumberWhileTheSameProcessesServeTrialsThatEndWell) {
  const std::vector<SeatId> two{{.seat = 0, .generation = 1}, {.seat = 1, .generation = 1}};
  for (const SeatId& id : two) come(id);
  const std::set<std::string> first = trial(two);
  EXPECT_EQ(first.size(), 1U) << "all ranks of a trial are told one number";
  EXPECT_EQ(trial(two), first);
  EXPECT_NE(trial({two[0]}), first) << "another number of ranks is another line-up";
  EXPECT_EQ(trial(two), first);
}

TEST_F(Lineups, HaveANewNumberAfterATrialThatDidNotEndWell) {
  const std::vector<SeatId> two{{.seat = 0, .generation = 1}, {.seat = 1, .generation = 1}};
  for (const SeatId& id : two) come(id);
  const std::set<std::string> alone = trial({two[1]});
  const std::set<std::string> first = trial(two);
  EXPECT_EQ(trial(two, "fail"), first);
  const std::set<std::string> second = trial(two);
  EXPECT_NE(second, first);
  EXPECT_EQ(trial(two), second);
  EXPECT_EQ(trial({two[1]}), alone) << "others have lost nothing";
}

TEST_F(Lineups, HaveANewNumberForANewProcessAndNeverAnOldOneAgain) {
  const SeatId leads{.seat = 0, .generation = 1};
  const SeatId old{.seat = 1, .generation = 1};
  const SeatId replacement{.seat = 1, .generation = 2};
  for (const SeatId& id : {leads, old, replacement}) come(id);
  const std::set<std::string> first = trial({leads, old});
  const std::set<std::string> second = trial({leads, replacement});
  const std::set<std::string> third = trial({leads, old});
  const std::set<std::string> fourth = trial({old, leads});
  EXPECT_NE(second, first);
  EXPECT_NE(third, second);
  EXPECT_NE(third, first);
  EXPECT_NE(fourth, third) << "a process has another rank";
}

// Rank 0 throws; rank 1 never waits, as one whose GPU is busy.
TEST(TrialEnd, IsSeenByARankThatAsksAndDoesNotWait) {
  World world(2);
  const TrialOutcome outcome = world.run_once(
      [](RankLine& line) -> std::string {
        if (line.rank == Rank{0}) throw std::runtime_error("a planted error");
        EXPECT_FALSE(line.client.is_trial_over());
        while (!line.client.is_trial_over()) std::this_thread::yield();
        EXPECT_TRUE(line.client.is_trial_over());
        throw RankCancelled{};
      },
      std::chrono::milliseconds(300));
  EXPECT_NE(messages(outcome).find("a planted error"), std::string::npos) << messages(outcome);
  world.wait_for_cancelled(1);
}

// What comes for the rank meanwhile is not lost.
TEST(TrialEnd, IsAskedForWithoutLosingTheWordToGo) {
  World world(2);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    for (std::uint64_t i = 1; i <= 20; ++i) {
      line.submit(tp, all_reduce("test.sum"));
      line.client.set("flush", "");
      for (int asks = 0; asks < 10; ++asks) EXPECT_FALSE(line.client.is_trial_over());
      line.wait(tp, i);
    }
    return "";
  });
  EXPECT_EQ(messages(outcome), "");
  EXPECT_EQ(outcome.num_matched, 40);
}

}  // namespace
}  // namespace lockstep::test
