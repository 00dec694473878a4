// The store and trials that go well, over real lines.
#include <gtest/gtest.h>

#include "tests/backends/coordinator/worlds.h"

namespace lockstep::test {
namespace {

using backends::CoordinatorClient;
using backends::Go;
using backends::TrialOutcome;

constexpr std::chrono::seconds kPatience{20};

TEST(Store, AValueReachesThoseThatAskedBeforeItWasSet) {
  World world(2);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    if (line.rank == Rank{0}) {
      line.client.set("first", "1");
      return line.client.get("second", kPatience);
    }
    const std::string first = line.client.get("first", kPatience);
    line.client.set("second", "2");
    return first;
  });
  EXPECT_EQ(messages(outcome), "");
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"2", "1"}));
}

TEST(Store, KeepsValuesFromTrialToTrialAndForTheCoordinatorItself) {
  World world(1);
  world.coordinator().set("from above", "x");
  const LineProgram program = [](RankLine& line) -> std::string {
    line.client.set("from below", "y");
    return line.client.get("from above", kPatience);
  };
  EXPECT_EQ(world.run_once(program).results.front(), "x");
  EXPECT_EQ(world.run().results.front(), "x");
  EXPECT_EQ(world.coordinator().get("from below", kPatience), "y");
  EXPECT_EQ(world.coordinator().get("from nobody", std::chrono::milliseconds(1)), std::nullopt);
}

TEST(Store, AKeyThatNobodySetsIsNamedAfterTheTimeout) {
  World world(1);
  const TrialOutcome outcome = world.run_once(
      [](RankLine& line) { return line.client.get("nobody's", std::chrono::milliseconds(20)); });
  EXPECT_NE(messages(outcome).find("nobody has set 'nobody's' at the coordinator at 127.0.0.1:"),
            std::string::npos)
      << messages(outcome);
}

TEST(Store, AValueThatCameTooLateIsNotTakenForTheNext) {
  World world(1);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    EXPECT_THROW(line.client.get("late", std::chrono::milliseconds(1)), backends::ConnectionLost);
    line.client.set("late", "old");
    line.client.set("wanted", "new");
    return line.client.get("wanted", kPatience);
  });
  EXPECT_EQ(outcome.results.front(), "new") << messages(outcome);
}

TEST(Store, ValuesMayBeLarge) {
  World world(2);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    if (line.rank == Rank{0}) line.client.set("large", std::string(10'000'000, 'x'));
    return std::to_string(line.client.get("large", kPatience).size());
  });
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"10000000", "10000000"}));
}

TEST(Trials, EachRankLearnsItsNumberAndTheRequestAndItsResultComesBack) {
  World world(3);
  const TrialOutcome outcome =
      world.run_once([](RankLine& line) { return line.request + std::to_string(line.rank.value); });
  EXPECT_EQ(messages(outcome), "");
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"request0", "request1", "request2"}));
}

TEST(Trials, CallsThatMatchAreDoneByAll) {
  World world(4);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    for (std::uint64_t i = 1; i <= 50; ++i) {
      line.submit(tp, all_reduce("test.sum"));
      line.wait(tp, i);
    }
    return "";
  });
  EXPECT_EQ(messages(outcome), "");
  EXPECT_EQ(outcome.num_calls, 200);
  EXPECT_EQ(outcome.num_matched, 200);
}

// Ranks submit on two communicators in opposite orders and wait in opposite orders.
TEST(Trials, AllRanksAreToldToGoInOneOrder) {
  World world(4);
  const TrialOutcome outcome = world.run_once([](RankLine& line) {
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    const int all = line.client.connect(line.group(GroupKind::kWorld));
    const bool is_odd = line.rank.value % 2 == 1;
    for (std::uint64_t i = 1; i <= 20; ++i) {
      line.submit(is_odd ? tp : all, all_reduce("test.first"));
      line.submit(is_odd ? all : tp, all_reduce("test.first"));
      line.wait(is_odd ? all : tp, i);
      line.wait(is_odd ? tp : all, i);
    }
    std::string order;
    for (const Go& go : line.gos) order += std::to_string(go.communicator);
    return order;
  });
  EXPECT_EQ(messages(outcome), "");
  EXPECT_EQ(outcome.results[0].size(), 40U);
  for (const std::string& order : outcome.results) EXPECT_EQ(order, outcome.results[0]);
}

TEST(Trials, MessagesOfOneSubmitAreToldToGoOneByOne) {
  World world(2);
  const TrialOutcome outcome = world.run_once([](RankLine& line) {
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    const int other = 1 - line.rank.value;
    const std::vector<CollectiveCall> calls = {
        send("test.there", other), all_reduce("test.sum"), recv("test.back", other)};
    if (line.rank == Rank{1}) line.client.get("submitted", kPatience);
    line.client.submit(tp, calls);
    if (line.rank == Rank{0}) line.client.set("submitted", "");
    line.client.wait(tp, 1, "test.wait");
    std::string indices;
    for (int i = 0; i < 3; ++i) {
      const Go go = line.client.next_go();
      line.client.done(go);
      indices += std::to_string(go.message) + " ";
    }
    return indices;
  });
  EXPECT_EQ(messages(outcome), "");
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"-1 2 0 ", "-1 0 2 "}));
}

TEST(Trials, OneFollowsTheOtherOnTheSameLines) {
  World world(2);
  const LineProgram program = [](RankLine& line) -> std::string {
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    line.submit(tp, all_reduce("test.sum"));
    line.wait(tp, 1);
    return "done";
  };
  for (const TrialOutcome& outcome : {world.run_once(program), world.run()}) {
    EXPECT_EQ(messages(outcome), "");
    EXPECT_EQ(outcome.num_calls, 2);  // of this trial only
    EXPECT_EQ(outcome.results, (std::vector<std::string>{"done", "done"}));
  }
}

TEST(Trials, ATicketThatIsNeverWaitedForIsPending) {
  World world(2);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    line.submit(tp, all_reduce("test.forgotten"));
    line.submit(tp, all_reduce("test.sum"));
    line.wait(tp, 2);
    return "";
  });
  ASSERT_EQ(outcome.findings.size(), 1U) << messages(outcome);
  EXPECT_EQ(outcome.findings.front().kind, backends::FindingKind::kPending);
  EXPECT_EQ(outcome.findings.front().label, "test.forgotten");
}

}  // namespace
}  // namespace lockstep::test
