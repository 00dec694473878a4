// Real training on ranks that are processes, over Gloo: it gives what simulated ranks give, and a
// rank that goes wrong is named while the next case runs.
#include "matrix/crew/crew.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <ostream>

#include "core/config/presets.h"
#include "matrix/crew/local_seats.h"
#include "matrix/sweep/worker_pool.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {
namespace {

using backends::Finding;
using backends::FindingKind;

constexpr double kTimeout = 8.0;  // seconds; nothing happens for half of it: stalled

Case small_case() {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 2;
  c.recipe.global_batch = 4;
  c.recipe.steps = 1;
  return c;
}

// A coordinator and its crew, whose rank 1 has the fault in its first process.
struct TestCrew {
  explicit TestCrew(const std::string& fault)
      : seats({FAULTY_RANK,
               fault,
               "--coordinator",
               "127.0.0.1:" + std::to_string(coordinator.port()),
               "--timeout",
               std::to_string(kTimeout)}) {}

  backends::Coordinator coordinator{{}};
  LocalSeats seats;
  Crew crew{coordinator, seats, kTimeout};
};

// Equal to simulated ranks but for the order in which Gloo adds.
void expect_like_simulated(const sim::TrialResult& trial) {
  ASSERT_TRUE(trial.cluster.findings.empty()) << trial.cluster.findings.front().message;
  EXPECT_GT(trial.cluster.num_calls, 0);
  EXPECT_EQ(trial.cluster.num_calls, trial.cluster.num_matched);
  const sim::TrialResult simulated = sim::run_trial(trial.c, {});
  ASSERT_EQ(trial.ranks.size(), simulated.ranks.size());
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    ASSERT_EQ(trial.ranks[rank].steps.size(), simulated.ranks[rank].steps.size());
    const StepResult& ours = trial.ranks[rank].steps.back();
    const StepResult& theirs = simulated.ranks[rank].steps.back();
    EXPECT_NEAR(ours.loss, theirs.loss, 1e-12);
    ASSERT_EQ(ours.gradients.size(), theirs.gradients.size());
    for (std::size_t i = 0; i < ours.gradients.size(); ++i) {
      ASSERT_EQ(ours.gradients[i].values.size(), theirs.gradients[i].values.size());
      for (std::size_t j = 0; j < ours.gradients[i].values.size(); ++j) {
        EXPECT_NEAR(ours.gradients[i].values[j], theirs.gradients[i].values[j], 1e-12);
      }
    }
  }
}

struct Fault {
  const char* name;
  FindingKind kind;
  const char* text;  // that the first line holds
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class CrewWithAFault : public testing::TestWithParam<Fault> {};

TEST_P(CrewWithAFault, NamesTheRankAndRunsTheNextCase) {
  TestCrew test(GetParam().name);
  const auto start = std::chrono::steady_clock::now();
  const sim::TrialResult trial = test.crew.run(small_case());
  // Later a worker would be ended for its time, and nobody named.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::duration<double>(kTimeout));
  ASSERT_FALSE(trial.cluster.findings.empty());
  const Finding& first = trial.cluster.findings.front();
  const std::string headline = first.message.substr(0, first.message.find('\n'));
  EXPECT_EQ(first.kind, GetParam().kind) << first.message;
  EXPECT_EQ(first.ranks, std::vector{Rank{1}}) << first.message;
  EXPECT_NE(headline.find("rank 1 (tp 1, dp 0)"), std::string::npos) << headline;
  EXPECT_NE(headline.find(GetParam().text), std::string::npos) << headline;
  EXPECT_TRUE(sim::why_unfinished(trial.cluster).has_value());

  expect_like_simulated(test.crew.run(small_case()));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    CrewWithAFault,
    testing::Values(Fault{"killed", FindingKind::kLost, "was lost: killed by signal 9 (Killed)"},
                    Fault{"gone", FindingKind::kLost, "was lost: exited with code 0"},
                    Fault{"frozen", FindingKind::kStalled, "has stalled: not heard of for"},
                    Fault{"idle", FindingKind::kStalled, "without a call; its last call was"},
                    Fault{"throws", FindingKind::kRankError, "threw: out of luck"},
                    Fault{"skips", FindingKind::kMismatch, "it has skipped"},
                    Fault{"another_kind", FindingKind::kMismatch, "calls broadcast"},
                    Fault{"another_count", FindingKind::kMismatch, "count"},
                    Fault{"another_label", FindingKind::kMismatch, "'forward.reduce.another'"}),
    [](const testing::TestParamInfo<Fault>& fault) { return std::string(fault.param.name); });

TEST(Crew, OneProcessServesOneTrialAfterAnotherWhateverTheirWorlds) {
  TestCrew test("killed");
  ASSERT_FALSE(test.crew.run(small_case()).cluster.findings.empty());
  Case larger = small_case();
  larger.recipe.global_batch = 6;
  larger.layout.dp = 3;
  for (const Case& c : {small_case(), larger, small_case()}) {
    expect_like_simulated(test.crew.run(c));
  }
}

// The processes that this one has started, in order.
std::vector<pid_t> children() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
  return {std::istream_iterator<pid_t>(file), {}};
}

void kill_and_wait_for_end(pid_t pid) {
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

std::string launch_error(Crew& crew, const Case& c) {
  try {
    crew.run(c);
  } catch (const LaunchError& error) {
    return error.what();
  }
  return "it ran";
}

TEST(Crew, ARankThatDiesBetweenTrialsIsReplacedAndCostsNoCase) {
  TestCrew test("none");
  Case larger = small_case();
  larger.recipe.global_batch = 6;
  larger.layout.dp = 3;
  expect_like_simulated(test.crew.run(larger));
  const std::vector<pid_t> ranks = children();
  ASSERT_EQ(ranks.size(), 6U);
  kill_and_wait_for_end(ranks[1]);
  kill_and_wait_for_end(ranks[5]);
  expect_like_simulated(test.crew.run(small_case()));
  expect_like_simulated(test.crew.run(larger));
}

TEST(Crew, ARankThatNeverComesIsNamed) {
  TestCrew test("late");
  EXPECT_EQ(launch_error(test.crew, small_case()),
            "the processes of these ranks have not come within 4 s: rank 1");
  expect_like_simulated(test.crew.run(small_case()));
}

TEST(Crew, SettingsThatOnlyTheSimulatorHasAreRefusedBeforeARun) {
  Case c = small_case();
  EXPECT_FALSE(why_no_crew(c).has_value());
  c.recipe.reduction_order = ReductionOrder::kTree;
  EXPECT_NE(why_no_crew(c).value_or("").find("reduction_order"), std::string::npos);
  c = small_case();
  c.recipe.completion = Completion::kEarly;
  EXPECT_NE(why_no_crew(c).value_or("").find("completion"), std::string::npos);
}

TEST(Crew, AProgramThatCannotStartIsToldAtOnce) {
  backends::Coordinator coordinator{{}};
  LocalSeats seats({"/bin/false"});
  Crew crew(coordinator, seats, 1000.0);
  try {
    crew.run(small_case());
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("has ended: exited with code 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::matrix
