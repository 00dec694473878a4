// Ranks that are threads of two processes, one here and one of a follower: a rank or a process that
// goes wrong is named, and the next case runs. Over Gloo, which needs no GPU.
#include <gtest/gtest.h>

#include <chrono>

#include "core/config/case_json.h"
#include "matrix/confirm/agreement.h"
#include "matrix/sweep/worker_pool.h"
#include "tests/matrix/crew/crew_trials.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;

constexpr double kTimeout = 8.0;  // seconds; nothing happens for half of it: stalled

sim::TrialResult run(TwoHosts& hosts, const Case& c) { return hosts.crew.run(c, case_to_json(c)); }

void expect_sound(const sim::TrialResult& trial) {
  expect_like_simulated(trial, matrix::agreement_bound("cpu"));
}

class HostsWithAFault : public testing::TestWithParam<CrewFault> {};

TEST_P(HostsWithAFault, NameTheRanksAndRunTheNextCase) {
  TwoHosts hosts(GetParam().name, "threads", kTimeout);
  const auto start = std::chrono::steady_clock::now();
  const sim::TrialResult trial = run(hosts, small_case());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::duration<double>(kTimeout));
  expect_names(trial, GetParam());
  expect_sound(run(hosts, small_case()));
}

std::vector<CrewFault> faults_over_gloo() {
  std::vector<CrewFault> faults = faults_of_hosts();
  faults.push_back({"gone", FindingKind::kLost, {Rank{1}, Rank{3}}, "exited with code 0"});
  return faults;
}

INSTANTIATE_TEST_SUITE_P(All,
                         HostsWithAFault,
                         testing::ValuesIn(faults_over_gloo()),
                         [](const testing::TestParamInfo<CrewFault>& fault) {
                           return std::string(fault.param.name);
                         });

Case larger_case() {
  Case c = small_case();
  c.layout.dp = 3;
  c.recipe.global_batch = 6;
  return c;
}

TEST(Hosts, ServeOneTrialAfterAnotherWhateverTheirWorlds) {
  TwoHosts hosts("none", "threads", kTimeout);
  for (const Case& c : {small_case(), larger_case(), small_case()}) expect_sound(run(hosts, c));
  EXPECT_EQ(all_children().size(), 2U) << "one process for each of both";
}

// Also the seats that the next case does not use: they were in that process.
TEST(Hosts, ThatDieBetweenTrialsAreReplacedWithAllTheirSeatsAndCostNoCase) {
  TwoHosts hosts("none", "threads", kTimeout);
  expect_sound(run(hosts, larger_case()));
  const std::vector<pid_t> processes = all_children();
  ASSERT_EQ(processes.size(), 2U);
  for (const pid_t pid : processes) kill_and_wait_for_end(pid);
  expect_sound(run(hosts, small_case()));
  expect_sound(run(hosts, larger_case()));
  EXPECT_EQ(all_children().size(), 2U);
}

TEST(Hosts, SeatsOfOneProcessHaveOneNumber) {
  backends::Coordinator coordinator{{}};
  const auto seats_of = [&](matrix::SeatKind kind) {
    return matrix::LaunchedSeats(coordinator, {.kind = kind, .command = {}, .num_processes = 3});
  };
  EXPECT_EQ(seats_of(matrix::SeatKind::kThreads).process_of(5), 2);
  EXPECT_EQ(seats_of(matrix::SeatKind::kProcesses).process_of(5), 5);
  EXPECT_EQ(matrix::make_local_seats(matrix::SeatKind::kThreads, {})->process_of(5), 0);
  EXPECT_EQ(matrix::make_local_seats(matrix::SeatKind::kProcesses, {})->process_of(5), 5);
}

}  // namespace
}  // namespace lockstep::test
