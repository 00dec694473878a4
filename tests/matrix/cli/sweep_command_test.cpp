// Sweeps as a user runs them: results, shards, interrupts, kills, resuming.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "matrix/sweep/case_result.h"
#include "tests/matrix/cli/run_lockstep.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

const char* const kHead = "lockstep: 1\nname: tiny\nmodel: {preset: tiny-linear}\n";

// Enough cases that a sweep is never over when its first lines are there.
std::string long_spec() {
  std::string seeds;
  for (int i = 0; i < 5000; ++i) seeds += (i == 0 ? "" : ", ") + std::to_string(i);
  return std::string(kHead) + "axes: {seed: [" + seeds + "], tp: [1, 2], dp: [1, 2, 3]}\n";
}

// Verdict and digest by name; every line must be readable.
std::map<std::string, std::string> digests(const std::string& path) {
  std::istringstream lines(read_text(path));
  std::map<std::string, std::string> found;
  std::string line;
  while (std::getline(lines, line)) {
    if (lines.eof()) break;  // torn
    const matrix::CaseResult result = matrix::result_from_json(line);
    EXPECT_TRUE(found.emplace(result.name, result.digest).second) << result.name;
  }
  return found;
}

class SweepCommand : public ::testing::Test {
 protected:
  void write_spec(const std::string& axes) {
    write_text(folder.file("spec.yaml"), std::string(kHead) + axes);
  }
  CommandOutcome run(std::vector<std::string> options) {
    options.insert(options.begin(), {"sweep", "spec.yaml"});
    return run_lockstep(options, folder.path());
  }
  std::string results() const { return folder.file("lockstep-out/tiny/results.jsonl"); }

  TemporaryFolder folder;
};

TEST_F(SweepCommand, PassesAndWritesResultsAndSummary) {
  write_spec("axes: {tp: [1, 2], dp: [1, 3]}\n");
  const CommandOutcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(digests(results()).size(), 4U);
  EXPECT_NE(outcome.out.find("cases/s"), std::string::npos);
  EXPECT_NE(read_text(folder.file("lockstep-out/tiny/summary.json")).find("\"pass\":4"),
            std::string::npos);
}

TEST_F(SweepCommand, GivesTheSameDigestsWithAnyJobsAndRanks) {
  write_spec("axes: {tp: [1, 2, 4], dp: [1, 2, 3], mask: [uneven, single]}\n");
  EXPECT_EQ(run({"--jobs", "1", "--out", "one"}).exit_code, 0);
  EXPECT_EQ(run({"--jobs", "3", "--out", "two"}).exit_code, 0);
  EXPECT_EQ(run({"--ranks", "threads", "--out", "three"}).exit_code, 0);
  const auto one = digests(folder.file("one/results.jsonl"));
  EXPECT_EQ(one.size(), 18U);
  EXPECT_EQ(digests(folder.file("two/results.jsonl")), one);
  EXPECT_EQ(digests(folder.file("three/results.jsonl")), one);
}

TEST_F(SweepCommand, PrintsTheSummaryAsJsonWhenAsked) {
  write_spec("axes: {tp: [1, 2]}\n");
  const CommandOutcome outcome = run({"--format", "json"});
  EXPECT_TRUE(outcome.out.starts_with("{\"name\":\"tiny\",\"counts\":{\"pass\":2,")) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
}

TEST_F(SweepCommand, EndsWithFourWhereAllIsInvalidOrNothingIsSelected) {
  write_spec("axes: {tp: [1, 2], dp: [5]}\n");
  const CommandOutcome invalid = run({});
  EXPECT_EQ(invalid.exit_code, 4);
  EXPECT_NE(invalid.out.find("invalid, by reason"), std::string::npos);
  EXPECT_EQ(run({"--only", "tp > 100"}).exit_code, 4);
}

TEST_F(SweepCommand, PassesOverAnEmptyShardWithANote) {
  write_spec("axes: {tp: [1]}\n");
  int num_empty = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const CommandOutcome outcome = run({"--shard", shard});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    if (outcome.err.find("holds no case") != std::string::npos) ++num_empty;
  }
  EXPECT_EQ(num_empty, 2);
}

TEST_F(SweepCommand, StopsAtAnInterruptWithWhatIsDone) {
  write_text(folder.file("spec.yaml"), long_spec());
  const pid_t pid = start_lockstep({"sweep", "spec.yaml"}, folder.path());
  ASSERT_TRUE(wait_for_lines(results(), 5, pid));
  ::kill(pid, SIGINT);
  const CommandOutcome outcome = wait_for_lockstep(pid, folder.path());
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.out.find("interrupted"), std::string::npos);
  EXPECT_GE(digests(results()).size(), 5U);
  EXPECT_NE(read_text(folder.file("lockstep-out/tiny/summary.json")).find("\"skipped\":"),
            std::string::npos);
}

TEST_F(SweepCommand, LeavesEveryFinishedLineReadableWhenKilledAndResumes) {
  write_text(folder.file("spec.yaml"), long_spec());
  const pid_t pid = start_lockstep({"sweep", "spec.yaml"}, folder.path());
  ASSERT_TRUE(wait_for_lines(results(), 5, pid));
  const std::vector<std::string> workers = children_of(pid);
  EXPECT_FALSE(workers.empty());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(wait_for_lockstep(pid, folder.path()).exit_code, 128 + SIGKILL);
  // A worker that outlived the command would keep this test waiting until its time limit.
  for (const std::string& worker : workers) wait_for_end(worker);
  const auto before = digests(results());
  EXPECT_GE(before.size(), 5U);
  write_text(results(), read_text(results()) + "{\"id\":\"torn");
  const CommandOutcome outcome = run({"--resume", "--limit", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("dropped 1 earlier"), std::string::npos) << outcome.err;
  const auto after = digests(results());
  for (const auto& [name, digest] : before) EXPECT_EQ(after.at(name), digest);
}

TEST_F(SweepCommand, OverridesFieldsAndTheSeedOfAllCases) {
  write_spec("axes: {tp: [1, 2]}\n");
  EXPECT_EQ(run({"--seed", "41", "--set", "steps=1", "--set", "dp=3"}).exit_code, 0);
  std::istringstream lines(read_text(results()));
  std::string line;
  int num_lines = 0;
  while (std::getline(lines, line)) {
    const matrix::CaseResult result = matrix::result_from_json(line);
    EXPECT_EQ(result.c.recipe.seed, 41);
    EXPECT_EQ(result.c.recipe.steps, 1);
    EXPECT_EQ(result.c.layout.dp, 3);
    ++num_lines;
  }
  EXPECT_EQ(num_lines, 2);
}

TEST_F(SweepCommand, LosesNoEarlierResultsToAMistake) {
  write_spec("axes: {tp: [1, 2]}\n");
  EXPECT_EQ(run({}).exit_code, 0);
  const std::string before = read_text(results());
  EXPECT_EQ(run({"--only", "tpp > 1"}).exit_code, 2);
  EXPECT_EQ(run({"--defect", "none"}).exit_code, 2);
  EXPECT_EQ(run({"--jobs", "0"}).exit_code, 2);
  write_spec("axes: {tp: []}\n");
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_EQ(read_text(results()), before);
}

TEST_F(SweepCommand, ReportsADefectAndHowToReplayIt) {
  write_spec("axes: {dp: [1, 2, 3]}\n");
  const CommandOutcome list = run_lockstep({"list", "defects"}, folder.path());
  const auto begin = list.out.find("dp-reduction-missing");
  ASSERT_NE(begin, std::string::npos) << list.out;
  const auto start = list.out.rfind('\n', begin) + 1;
  const std::string id = list.out.substr(start, list.out.find(' ', start) - start);
  const CommandOutcome outcome = run({"--defect", id});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("failures, by what they have in common:"), std::string::npos);
  EXPECT_NE(outcome.out.find("lockstep run --case @lockstep-out/tiny/first-failure.json"),
            std::string::npos);
  const CommandOutcome replay =
      run_lockstep({"run", "--case", "@lockstep-out/tiny/first-failure.json"}, folder.path());
  EXPECT_EQ(replay.exit_code, 1);
  EXPECT_EQ(matrix::result_from_json(replay.out).verdict, matrix::Verdict::kFail);
}

}  // namespace
}  // namespace lockstep::test
