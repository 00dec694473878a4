// The command over Gloo as a user runs it: alone, as processes of a launcher, and when they die.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "backends/coordinator/coordinator.h"
#include "backends/coordinator/socket.h"
#include "tests/matrix/cli/sweep_fixture.h"

namespace lockstep::test {
namespace {

class GlooCommand : public SweepFixture {
 protected:
  GlooCommand() : SweepFixture("gloo") {}

  CommandOutcome run(std::vector<std::string> options) {
    options.insert(options.begin(), {"sweep", "spec.yaml", "--comm", "gloo"});
    return run_lockstep(options, folder.path());
  }
  std::vector<matrix::CaseResult> results(const std::string& out = "lockstep-out/tiny") const {
    return SweepFixture::results(out);
  }
};

TEST_F(GlooCommand, SweepsLayoutsOnProcessesAndSaysSoInEveryLine) {
  write_spec("axes: {tp: [1, 2], dp: [1, 2]}\n");
  const CommandOutcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  ASSERT_EQ(results().size(), 4U);
  for (const matrix::CaseResult& result : results()) {
    EXPECT_EQ(result.verdict, matrix::Verdict::kPass) << result.reason;
    EXPECT_EQ(result.comm, "gloo");
  }
}

TEST_F(GlooCommand, RunsOneCase) {
  const CommandOutcome outcome =
      run_lockstep({"run",
                    "--comm",
                    "gloo",
                    "--case",
                    R"({"preset":"tiny-linear","tp":2,"global_batch":2,"steps":1})"},
                   folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const matrix::CaseResult result = matrix::result_from_json(outcome.out);
  EXPECT_EQ(result.verdict, matrix::Verdict::kPass);
  EXPECT_EQ(result.comm, "gloo");
}

TEST_F(GlooCommand, ResumingTakesNoLineOfAnotherBackendForItsOwn) {
  write_spec("axes: {dp: [2]}\n");
  EXPECT_EQ(run_lockstep({"sweep", "spec.yaml"}, folder.path()).exit_code, 0);
  ASSERT_EQ(results().at(0).comm, "inproc");
  const CommandOutcome outcome = run({"--resume"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(results().size(), 1U);
  EXPECT_EQ(results().at(0).comm, "gloo");
  EXPECT_NE(outcome.err.find("dropped 1 earlier result"), std::string::npos) << outcome.err;
}

TEST_F(GlooCommand, SkipsWhatOnlyTheSimulatorCanDoAndTellsWhy) {
  write_spec("axes: {dp: [2], reduction_order: [rank, tree]}\n");
  const CommandOutcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("skipped, by reason:\n        1  the order of sums is Gloo's own"),
            std::string::npos)
      << outcome.out;
}

TEST_F(GlooCommand, CatchesAPlantedDefect) {
  write_spec("axes: {dp: [1, 2]}\n");
  const CommandOutcome outcome = run({"--defect", "B27-dp-reduction-missing"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  for (const matrix::CaseResult& result : results()) {
    EXPECT_EQ(result.verdict,
              result.c.layout.dp == 1 ? matrix::Verdict::kPass : matrix::Verdict::kFail);
  }
}

TEST_F(GlooCommand, ARankKilledInMidSweepCostsTheCaseItRanAndNoOther) {
  std::string seeds;
  for (int i = 0; i < 12; ++i) seeds += (i == 0 ? "" : ", ") + std::to_string(i);
  write_spec("axes: {seed: [" + seeds + "], tp: [2]}\n");
  const pid_t sweep = start_lockstep({"sweep", "spec.yaml", "--comm", "gloo"}, folder.path());
  const std::string file = folder.file("lockstep-out/tiny/results.jsonl");
  ASSERT_TRUE(wait_for_lines(file, 2, sweep));
  const std::vector<std::string> workers = children_of(sweep);
  ASSERT_EQ(workers.size(), 1U);
  const std::vector<std::string> ranks = children_of(std::stoi(workers.front()));
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(std::stoi(ranks.back()), SIGKILL);
  const CommandOutcome outcome = wait_for_lockstep(sweep, folder.path());
  ASSERT_EQ(results().size(), 12U);
  int num_errors = 0;  // none where it died between two cases: crew_test tells these apart
  for (const matrix::CaseResult& result : results()) {
    if (result.verdict == matrix::Verdict::kPass) continue;
    ++num_errors;
    EXPECT_EQ(result.verdict, matrix::Verdict::kError);
    EXPECT_EQ(result.reason.find("rank 1 (tp 1) was lost: killed by signal 9 (Killed)"), 0U)
        << result.reason;
  }
  EXPECT_LE(num_errors, 1);
  EXPECT_EQ(outcome.exit_code, num_errors) << outcome.err;
}

TEST_F(GlooCommand, NoRankOutlivesASweepThatIsKilled) {
  write_spec("axes: {seed: [1, 2, 3, 4, 5, 6, 7, 8, 9], tp: [2]}\n");
  const pid_t sweep = start_lockstep({"sweep", "spec.yaml", "--comm", "gloo"}, folder.path());
  ASSERT_TRUE(wait_for_lines(folder.file("lockstep-out/tiny/results.jsonl"), 1, sweep));
  const std::vector<std::string> workers = children_of(sweep);
  ASSERT_EQ(workers.size(), 1U);
  const std::vector<std::string> ranks = children_of(std::stoi(workers.front()));
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(sweep, SIGKILL);
  wait_for_lockstep(sweep, folder.path());
  for (const std::string& rank : ranks) wait_for_end(rank);
  wait_for_end(workers.front());
}

TEST_F(GlooCommand, ProcessesOfALauncherShareTheWorkAndOnlyTheFirstReports) {
  write_spec("axes: {tp: [1, 2], dp: [1, 2, 4]}\n");
  const std::vector<CommandOutcome> outcomes = launch(3, {});
  EXPECT_EQ(outcomes[0].exit_code, 0) << outcomes[0].out << outcomes[0].err;
  EXPECT_NE(read_text(folder.file("out/summary.json")).find("\"pass\":6"), std::string::npos);
  for (std::size_t rank = 1; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].exit_code, 0) << outcomes[rank].err;
    EXPECT_EQ(outcomes[rank].out, "");
  }
}

TEST_F(GlooCommand, FollowersAreDismissedWhenTheLeaderHasNothingToRun) {
  write_spec("axes: {tp: [5]}\n");  // 48 is not divisible by 5
  std::vector<CommandOutcome> outcomes = launch(2, {});
  EXPECT_EQ(outcomes[0].exit_code, 4) << outcomes[0].err;
  EXPECT_EQ(outcomes[1].exit_code, 0) << outcomes[1].err;

  write_spec("axes: {tpp: [1]}\n");
  outcomes = launch(2, {});
  EXPECT_EQ(outcomes[0].exit_code, 2) << outcomes[0].err;
  EXPECT_NE(outcomes[0].err.find("tpp"), std::string::npos);
  EXPECT_EQ(outcomes[1].exit_code, 0) << outcomes[1].err;
}

TEST_F(GlooCommand, AFollowerThatDiesCostsOnlyWhatNeedsItsRanksAndIsNamedAtOnce) {
  write_spec("axes: {tp: [1, 2], seed: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n");
  const Launched launched = start(2, free_port(), "127.0.0.1", {});
  ASSERT_TRUE(wait_for_lines(folder.file("out/results.jsonl"), 11, launched.pids[0]));
  ::kill(launched.pids[1], SIGKILL);
  const CommandOutcome outcome = wait_for_lockstep(launched.pids[0], launched.places[0].path());
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  wait_for_lockstep(launched.pids[1], launched.places[1].path());
  int num_errors = 0;
  for (const matrix::CaseResult& result : results("out")) {
    if (result.verdict == matrix::Verdict::kPass) continue;
    ++num_errors;
    EXPECT_EQ(result.verdict, matrix::Verdict::kError);
    EXPECT_EQ(result.c.layout.tp, 2);
    EXPECT_NE(result.reason.find("rank 1"), std::string::npos) << result.reason;
    EXPECT_NE(result.reason.find("process 1 of the launcher is gone"), std::string::npos)
        << result.reason;
    EXPECT_LT(result.seconds, 10.0);  // of the time limit's 60
  }
  EXPECT_EQ(results("out").size(), 18U);
  EXPECT_GT(num_errors, 0);
}

TEST_F(GlooCommand, AFollowerEndsSoonAfterItsLeaderWasKilled) {
  write_spec("axes: {tp: [2], seed: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n");
  const Launched launched = start(2, free_port(), "127.0.0.1", {});
  ASSERT_TRUE(wait_for_lines(folder.file("out/results.jsonl"), 2, launched.pids[0]));
  ::kill(launched.pids[0], SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  wait_for_lockstep(launched.pids[0], launched.places[0].path());
  const CommandOutcome outcome = wait_for_lockstep(launched.pids[1], launched.places[1].path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("no coordinator could be reached at 127.0.0.1"), std::string::npos)
      << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds{60});
}

TEST_F(GlooCommand, ALauncherMayGiveAnAddressOfIpv6) {
  write_spec("axes: {tp: [2]}\n");
  const std::vector<CommandOutcome> outcomes = launch(2, {}, "::1");
  EXPECT_EQ(outcomes[0].exit_code, 0) << outcomes[0].out << outcomes[0].err;
  EXPECT_EQ(outcomes[1].exit_code, 0) << outcomes[1].err;
}

TEST_F(GlooCommand, AnAddressThatIsNotTheLeadersIsALaunchThatFailed) {
  write_spec("axes: {tp: [2]}\n");
  const Launched launched = start(1, free_port(), "nowhere.invalid", {});
  const CommandOutcome outcome = wait_for_lockstep(launched.pids[0], launched.places[0].path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("MASTER_ADDR must be an address of rank 0's host"), std::string::npos)
      << outcome.err;
}

TEST_F(GlooCommand, VariablesOfALauncherThatContradictEachOtherAreRefused) {
  write_spec("axes: {tp: [2]}\n");
  const pid_t pid = start_lockstep(
      {"sweep", "spec.yaml", "--comm", "gloo"}, folder.path(), {"RANK=3", "WORLD_SIZE=2"});
  const CommandOutcome outcome = wait_for_lockstep(pid, folder.path());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("RANK"), std::string::npos) << outcome.err;
}

TEST_F(GlooCommand, APortThatIsTakenIsALaunchThatFailed) {
  write_spec("axes: {tp: [2]}\n");
  const int taken = backends::listen_on("127.0.0.1", 0);
  const std::string port = std::to_string(backends::local_port(taken));
  const pid_t pid =
      start_lockstep({"sweep", "spec.yaml", "--comm", "gloo"},
                     folder.path(),
                     {"RANK=0", "WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port});
  const CommandOutcome outcome = wait_for_lockstep(pid, folder.path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("cannot listen on 127.0.0.1:" + port), std::string::npos)
      << outcome.err;
  ::close(taken);
}

TEST_F(GlooCommand, OptionsThatSayNothingOfProcessesAreRefused) {
  write_spec("axes: {tp: [2]}\n");
  const CommandOutcome outcome = run({"--ranks", "threads"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--ranks threads"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace lockstep::test
