// Real training on ranks that are processes, over Gloo: it gives what simulated ranks give, and a
// rank that goes wrong is named while the next case runs.
#include "matrix/crew/crew.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "core/config/case_json.h"
#include "matrix/confirm/agreement.h"
#include "matrix/crew/local_seats.h"
#include "matrix/sweep/worker_pool.h"
#include "simulator/runtime/trial.h"
#include "tests/matrix/crew/crew_trials.h"

namespace lockstep::matrix {
namespace {

using backends::FindingKind;
using test::CrewFault;
using test::small_case;

constexpr double kTimeout = 8.0;  // seconds; nothing happens for half of it: stalled

// A coordinator and its crew, whose rank 1 has the fault in its first process.
struct TestCrew {
  explicit TestCrew(const std::string& fault)
      : seats({test::faulty_rank(),
               fault,
               "process",
               "--coordinator",
               "127.0.0.1:" + std::to_string(coordinator.port()),
               "--timeout",
               std::to_string(kTimeout)}) {}

  backends::Coordinator coordinator{{}};
  LocalSeats seats;
  Crew crew{coordinator, seats, kTimeout};

  sim::TrialResult run(const Case& c) { return crew.run(c, case_to_json(c)); }
};

// Only sums over ranks are taken in another order.
void expect_like_simulated(const sim::TrialResult& trial) {
  test::expect_like_simulated(trial, agreement_bound("cpu"));
}

class CrewWithAFault : public testing::TestWithParam<CrewFault> {};

TEST_P(CrewWithAFault, NamesTheRankAndRunsTheNextCase) {
  TestCrew test(GetParam().name);
  const auto start = std::chrono::steady_clock::now();
  const sim::TrialResult trial = test.run(small_case());
  // Later a worker would be ended for its time, and nobody named.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::duration<double>(kTimeout));
  test::expect_names(trial, GetParam());
  const std::string& message = trial.cluster.findings.front().message;
  EXPECT_NE(message.substr(0, message.find('\n')).find("rank 1 (tp 1, dp 0)"), std::string::npos)
      << message;

  expect_like_simulated(test.run(small_case()));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    CrewWithAFault,
    testing::Values(
        CrewFault{"killed", FindingKind::kLost, {Rank{1}}, "was lost: killed by signal 9 (Killed)"},
        CrewFault{"gone", FindingKind::kLost, {Rank{1}}, "was lost: exited with code 0"},
        CrewFault{"frozen", FindingKind::kStalled, {Rank{1}}, "has stalled: not heard of for"},
        CrewFault{"idle", FindingKind::kStalled, {Rank{1}}, "without a call; its last call was"},
        CrewFault{"throws", FindingKind::kRankError, {Rank{1}}, "threw: out of luck"},
        CrewFault{"skips", FindingKind::kMismatch, {Rank{1}}, "it has skipped"},
        CrewFault{"another_kind", FindingKind::kMismatch, {Rank{1}}, "calls broadcast"},
        CrewFault{"another_count", FindingKind::kMismatch, {Rank{1}}, "count"},
        CrewFault{"another_label", FindingKind::kMismatch, {Rank{1}}, "'forward.reduce.another'"}),
    [](const testing::TestParamInfo<CrewFault>& fault) { return std::string(fault.param.name); });

TEST(Crew, OneProcessServesOneTrialAfterAnotherWhateverTheirWorlds) {
  TestCrew test("killed");
  ASSERT_FALSE(test.run(small_case()).cluster.findings.empty());
  Case larger = small_case();
  larger.recipe.global_batch = 6;
  larger.layout.dp = 3;
  for (const Case& c : {small_case(), larger, small_case()}) {
    expect_like_simulated(test.run(c));
  }
}

// The processes that this one has started, in order.
std::vector<pid_t> children() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
  return {std::istream_iterator<pid_t>(file), {}};
}

std::string launch_error(Crew& crew, const Case& c) {
  try {
    crew.run(c, case_to_json(c));
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
  expect_like_simulated(test.run(larger));
  const std::vector<pid_t> ranks = children();
  ASSERT_EQ(ranks.size(), 6U);
  test::kill_and_wait_for_end(ranks[1]);
  test::kill_and_wait_for_end(ranks[5]);
  expect_like_simulated(test.run(small_case()));
  expect_like_simulated(test.run(larger));
}

TEST(Crew, ARankThatNeverComesIsNamed) {
  TestCrew test("late");
  EXPECT_EQ(launch_error(test.crew, small_case()),
            "the processes of these ranks have not come within 4 s: rank 1");
  expect_like_simulated(test.run(small_case()));
}

TEST(Crew, SettingsThatOnlyTheSimulatorHasAreRefusedBeforeARun) {
  Case c = small_case();
  EXPECT_FALSE(why_no_crew(c, "Gloo").has_value());
  c.recipe.reduction_order = ReductionOrder::kTree;
  EXPECT_NE(why_no_crew(c, "Gloo").value_or("").find("reduction_order"), std::string::npos);
  c = small_case();
  c.recipe.completion = Completion::kEarly;
  EXPECT_NE(why_no_crew(c, "Gloo").value_or("").find("completion"), std::string::npos);
}

TEST(Crew, AProgramThatCannotStartIsToldAtOnce) {
  backends::Coordinator coordinator{{}};
  LocalSeats seats({"/bin/false"});
  Crew crew(coordinator, seats, 1000.0);
  try {
    crew.run(small_case(), case_to_json(small_case()));
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("has ended: exited with code 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::matrix
