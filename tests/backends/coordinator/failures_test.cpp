// Trials that do not end well, over real lines: each is told at once, of the rank at fault.
#include <gtest/gtest.h>

#include "backends/coordinator/greeting.h"
#include "core/base/errors.h"
#include "tests/backends/coordinator/worlds.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using backends::TrialOutcome;

constexpr std::chrono::milliseconds kShortStall{300};

// The outcome's first finding is of that kind and names these ranks. The stall limit of half a
// minute was not what ended it.
void expect_fault(const TrialOutcome& outcome, FindingKind kind, const std::vector<Rank>& ranks) {
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings.front().kind, kind) << messages(outcome);
  EXPECT_EQ(outcome.findings.front().ranks, ranks) << messages(outcome);
}

// Every rank but one waits in a call of all; that one does something else.
LineProgram all_but_one(int one, const LineProgram& other) {
  return [one, other](RankLine& line) -> std::string {
    if (line.rank == Rank{one}) return other(line);
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    line.submit(tp, all_reduce("test.sum"));
    line.wait(tp, 1);
    return "";
  };
}

TEST(Failures, ACallThatDiffersIsAMismatch) {
  World world(3);
  expect_fault(world.run_once(all_but_one(2,
                                          [](RankLine& line) -> std::string {
                                            const int tp =
                                                line.client.connect(line.group(GroupKind::kTp));
                                            line.submit(tp, all_reduce("test.sum", 5));
                                            line.wait(tp, 1);
                                            return "";
                                          })),
               FindingKind::kMismatch,
               {Rank{2}});
}

TEST(Failures, ACycleOfWaitsIsADeadlockWithItsRanks) {
  World world(2);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    line.submit(tp, recv("test.receive", 1 - line.rank.value));
    line.client.wait(tp, 1, "test.wait");
    line.client.next_go();
    return "unreachable";
  });
  expect_fault(outcome, FindingKind::kDeadlock, {Rank{0}, Rank{1}});
  EXPECT_NE(messages(outcome).find("deadlock, a cycle"), std::string::npos) << messages(outcome);
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"", ""}));
}

TEST(Failures, ARankThatReturnsEarlyIsWhatTheOthersWaitFor) {
  World world(3);
  expect_fault(world.run_once(all_but_one(1, [](RankLine&) { return ""; })),
               FindingKind::kDeadlock,
               {Rank{1}});
}

TEST(Failures, ARankThatThrewIsToldWithItsError) {
  World world(3);
  const TrialOutcome outcome = world.run_once(
      all_but_one(1, [](RankLine&) -> std::string { throw std::runtime_error("no such thing"); }));
  expect_fault(outcome, FindingKind::kRankError, {Rank{1}});
  EXPECT_NE(messages(outcome).find("rank 1 (tp 1) threw: no such thing"), std::string::npos);
}

TEST(Failures, ARankWhoseLineBreaksIsLostAndAskedAfterOnce) {
  World world(3);
  const TrialOutcome outcome =
      world.run_once(all_but_one(1, [](RankLine&) -> std::string { throw LineBreaks{}; }));
  expect_fault(outcome, FindingKind::kLost, {Rank{1}});
  EXPECT_NE(messages(outcome).find("seat 1 was cut off"), std::string::npos) << messages(outcome);
  EXPECT_EQ(world.num_questions(), 1);
}

TEST(Failures, ARankThatWasGoneBeforeItsTrialIsLost) {
  World world(2);
  const LineProgram program = [](RankLine& line) -> std::string {
    if (line.rank == Rank{1}) throw LineBreaks{};
    return "";
  };
  expect_fault(world.run_once(program), FindingKind::kLost, {Rank{1}});
  // Seat 0 has ended by itself, and serves on; nobody sits on seat 1.
  expect_fault(world.run_at_once(0), FindingKind::kLost, {Rank{1}});
}

TEST(Failures, ARankThatSaysWhatNoneMayIsLostAndTheReasonTold) {
  World world(2);
  const TrialOutcome outcome = world.run_once(all_but_one(1, [](RankLine& line) -> std::string {
    line.client.submit(3, {});
    line.client.wait(3, 1, "test.wait");
    line.client.next_go();
    return "unreachable";
  }));
  expect_fault(outcome, FindingKind::kLost, {Rank{1}});
  EXPECT_NE(messages(outcome).find("it used communicator 3, having connected 0"), std::string::npos)
      << messages(outcome);
}

TEST(Failures, AGroupBeyondTheWorldIsRefusedInTheRankItself) {
  World world(2);
  const TrialOutcome outcome = world.run_once(all_but_one(1, [](RankLine& line) -> std::string {
    line.client.connect({.kind = GroupKind::kTp, .index = 0, .ranks = {Rank{1}, Rank{2}}});
    return "unreachable";
  }));
  expect_fault(outcome, FindingKind::kRankError, {Rank{1}});
  EXPECT_NE(messages(outcome).find("rank 1 connects to tp#0 {1, 2}, but the world has 2 ranks"),
            std::string::npos)
      << messages(outcome);
}

TEST(Failures, ARankThatRunsWithoutACallIsNamedAsStalled) {
  World world(3);
  const LineProgram runs = [&](RankLine&) -> std::string {
    // Whatever it computes: here until the others were told that it is over.
    world.wait_for_cancelled(2);
    return "";
  };
  const TrialOutcome outcome = world.run_once(all_but_one(1, runs), kShortStall);
  expect_fault(outcome, FindingKind::kStalled, {Rank{1}});
  EXPECT_NE(messages(outcome).find("without a call"), std::string::npos) << messages(outcome);
}

TEST(Failures, AProcessThatSaysNothingAtAllIsNamedAsStalled) {
  World world(3);
  const LineProgram waits = all_but_one(-1, {});
  world.seat(0, 0, waits);
  world.seat(2, 0, waits);
  world.start([&] {
    backends::Greeted frozen = backends::greet_coordinator(world.options(1));
    // It takes its order and no more, until the coordinator has told the others.
    world.wait_for_cancelled(2);
  });
  const TrialOutcome outcome = world.run(0, kShortStall);
  expect_fault(outcome, FindingKind::kStalled, {Rank{1}});
  EXPECT_NE(messages(outcome).find("not heard of for"), std::string::npos) << messages(outcome);
}

TEST(Failures, ARankIsCancelledOutOfTheStoreToo) {
  World world(2);
  const TrialOutcome outcome = world.run_once([](RankLine& line) -> std::string {
    if (line.rank == Rank{1}) throw LineBreaks{};
    return line.client.get("nobody's", std::chrono::seconds(20));
  });
  expect_fault(outcome, FindingKind::kLost, {Rank{1}});
  world.wait_for_cancelled(1);
}

TEST(Failures, WhileAnExceptionUnwindsNothingElseIsThrown) {
  struct WaitsInTheEnd {
    RankLine& line;
    ~WaitsInTheEnd() {
      line.client.wait(0, 1, "test.wait");
      EXPECT_EQ(line.client.next_go().communicator, -1);
    }
  };
  World world(2);
  const TrialOutcome outcome = world.run_once(all_but_one(1, [](RankLine& line) -> std::string {
    const int alone = line.client.connect(line.group(GroupKind::kTp));
    line.submit(alone, all_reduce("test.other"));
    const WaitsInTheEnd waits{line};
    throw std::runtime_error("its own");
  }));
  expect_fault(outcome, FindingKind::kMismatch, {Rank{0}, Rank{1}});
}

}  // namespace
}  // namespace lockstep::test
