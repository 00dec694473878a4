// Expectations on trials, and a follower on a thread.
#include "tests/matrix/crew/crew_trials.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "core/config/presets.h"
#include "matrix/confirm/agreement.h"
#include "matrix/crew/follower.h"
#include "simulator/runtime/trial.h"

namespace lockstep::test {
namespace {

using backends::Finding;
using backends::FindingKind;

constexpr const char* kArrival = "gpu-a gpu-b";

std::vector<std::string> host_command(const std::string& fault, const std::string& kind, int port) {
  return {faulty_rank(), fault, kind, "--coordinator", "127.0.0.1:" + std::to_string(port)};
}

// What faulty_rank cannot do without: followers have it from the leader alone.
std::vector<std::string> timeout_words(double timeout_s) {
  return {"--timeout", std::to_string(timeout_s)};
}

matrix::LaunchedSeats::Options seats_options(const std::string& fault,
                                             const std::string& kind,
                                             int port,
                                             double timeout_s) {
  std::vector<std::string> command = host_command(fault, kind, port);
  const std::vector<std::string> words = timeout_words(timeout_s);
  command.insert(command.end(), words.begin(), words.end());
  return {.kind = matrix::SeatKind::kThreads,
          .command = command,
          .followers_words = words,
          .num_processes = 2};
}

}  // namespace

Case small_case() {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 2;
  c.recipe.global_batch = 4;
  c.recipe.steps = 1;
  return c;
}

void PrintTo(const CrewFault& fault, std::ostream* out) { *out << fault.name; }

// With its process rank 1 takes rank 3 along, and nothing else.
std::vector<CrewFault> faults_of_hosts() {
  return {
      {"killed",
       FindingKind::kLost,
       {Rank{1}, Rank{3}},
       "rank 3 (tp 1, dp 1) were lost: killed by signal 9 (Killed)"},
      {"frozen", FindingKind::kStalled, {Rank{1}, Rank{3}}, "stalled: not heard of for"},
      {"silent_end",
       FindingKind::kLost,
       {Rank{1}},
       "rank 1 (tp 1, dp 0) was lost: its thread has ended"},
      {"idle", FindingKind::kStalled, {Rank{1}}, "rank 1 (tp 1, dp 0) has stalled: running for"},
      {"throws", FindingKind::kRankError, {Rank{1}}, "rank 1 (tp 1, dp 0) threw: out of luck"},
      {"skips", FindingKind::kMismatch, {Rank{1}}, "it has skipped"},
      {"another_kind", FindingKind::kMismatch, {Rank{1}}, "calls broadcast"}};
}

void expect_names(const sim::TrialResult& trial, const CrewFault& fault) {
  ASSERT_FALSE(trial.cluster.findings.empty());
  const Finding& first = trial.cluster.findings.front();
  EXPECT_EQ(first.kind, fault.kind) << first.message;
  std::vector<Rank> ranks;
  for (const Finding& finding : trial.cluster.findings) {
    if (finding.kind != fault.kind) continue;
    ranks.insert(ranks.end(), finding.ranks.begin(), finding.ranks.end());
  }
  std::sort(ranks.begin(), ranks.end());
  EXPECT_EQ(ranks, fault.ranks) << first.message;
  const std::string headline = first.message.substr(0, first.message.find('\n'));
  EXPECT_NE(headline.find(fault.text), std::string::npos) << headline;
  EXPECT_TRUE(sim::why_unfinished(trial.cluster).has_value());
}

void expect_like_simulated(const sim::TrialResult& trial, double bound) {
  ASSERT_TRUE(trial.cluster.findings.empty()) << trial.cluster.findings.front().message;
  EXPECT_GT(trial.cluster.num_calls, 0);
  EXPECT_EQ(trial.cluster.num_calls, trial.cluster.num_matched);
  const sim::CheckResult result = matrix::agreement(sim::run_trial(trial.c, {}), trial, bound);
  EXPECT_EQ(result.verdict, sim::CheckVerdict::kPass)
      << result.reason << " " << result.worst.where << ": " << result.worst.error;
  EXPECT_GT(result.compared, 0);
}

std::string faulty_rank() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "faulty_rank";
}

TwoHosts::TwoHosts(const std::string& fault, const std::string& kind, double timeout_s)
    : seats(coordinator, seats_options(fault, kind, coordinator.port(), timeout_s)),
      crew(coordinator, seats, timeout_s) {
  std::signal(SIGPIPE, SIG_IGN);
  follower = std::thread([options = matrix::FollowerOptions{
                              .process = 1,
                              .coordinator = {.host = "127.0.0.1", .port = coordinator.port()},
                              .kind = matrix::SeatKind::kThreads,
                              .command = host_command(fault, kind, coordinator.port()),
                              .arrival = kArrival}] { matrix::follow(options); });
}

TwoHosts::~TwoHosts() {
  EXPECT_EQ(seats.arrival(1, std::chrono::seconds{1}), kArrival);
  EXPECT_TRUE(seats.say_goodbye());
  follower.join();
}

std::vector<pid_t> all_children() {
  std::vector<pid_t> pids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    pids.insert(pids.end(), std::istream_iterator<pid_t>(file), {});
  }
  return pids;
}

void kill_and_wait_for_end(pid_t pid) {
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

}  // namespace lockstep::test
