// `lockstep confirm` as a user runs it: what it refuses, and a sweep held against Gloo.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "backends/gloo/transport.h"
#include "backends/nccl/transport.h"
#include "matrix/sweep/case_result.h"
#include "tests/matrix/cli/run_lockstep.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::Verdict;

class ConfirmCommand : public ::testing::Test {
 protected:
  void write_results(const std::string& text) { write_text(folder.file("results.jsonl"), text); }
  CommandOutcome run(std::vector<std::string> options) {
    options.insert(options.begin(), "confirm");
    return run_lockstep(options, folder.path());
  }

  TemporaryFolder folder;
};

bool has_gloo() { return backends::why_no_gloo().empty(); }

// What a build without Gloo says to everything that needs it.
constexpr int kNotBuilt = 3;

TEST_F(ConfirmCommand, NeedsABackendOtherThanTheSweeps) {
  const CommandOutcome none = run({"."});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("--comm says on which backend"), std::string::npos) << none.err;
  const CommandOutcome same = run({".", "--comm", "inproc"});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_NE(same.err.find("expected gloo or nccl"), std::string::npos) << same.err;
}

// Without a GPU it is lacking; with one there is no sweep to confirm.
TEST_F(ConfirmCommand, Exits3WhereThisMachineHasNoGpuForNccl) {
  const bool has_nccl = backends::why_no_nccl(1).empty();
  const CommandOutcome outcome = run({".", "--comm", "nccl"});
  EXPECT_EQ(outcome.exit_code, has_nccl ? 2 : kNotBuilt) << outcome.err;
  EXPECT_EQ(outcome.err.find("--comm nccl: ") == std::string::npos, has_nccl) << outcome.err;
}

TEST_F(ConfirmCommand, RefusesALauncherThatDidNotStartIt) {
  write_results("");
  const CommandOutcome outcome = run({".", "--comm", "gloo", "--launcher", "slurm"});
  EXPECT_EQ(outcome.exit_code, has_gloo() ? 2 : kNotBuilt) << outcome.err;
  if (!has_gloo()) return;
  EXPECT_NE(outcome.err.find("--launcher slurm: this command was not started by srun"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(run({".", "--comm", "gloo", "--launcher", "pbs"}).exit_code, 2);
  EXPECT_EQ(run({".", "--comm", "gloo", "--launcher", "local"}).exit_code, 4);
}

TEST_F(ConfirmCommand, RefusesWhatIsNoFolderOfASweep) {
  const int refused = has_gloo() ? 2 : kNotBuilt;
  EXPECT_EQ(run({"nowhere", "--comm", "gloo"}).exit_code, refused);
  EXPECT_EQ(run({".", "--comm", "gloo"}).exit_code, refused);
  write_results("no result\n");
  EXPECT_EQ(run({".", "--comm", "gloo"}).exit_code, refused);
  EXPECT_FALSE(std::filesystem::exists(folder.file("confirm-gloo")));
}

TEST_F(ConfirmCommand, RefusesALimitThatIsNone) {
  write_results("");
  EXPECT_EQ(run({".", "--comm", "gloo", "--limit", "0"}).exit_code, has_gloo() ? 2 : kNotBuilt);
}

TEST_F(ConfirmCommand, Exits4WhereThereIsNothingToConfirm) {
  write_results(matrix::result_to_json(sample_result("late", 1, Verdict::kTimeout)) + "\n");
  const CommandOutcome outcome = run({".", "--comm", "gloo"});
  EXPECT_EQ(outcome.exit_code, has_gloo() ? 4 : kNotBuilt) << outcome.err;
  EXPECT_EQ(has_gloo(),
            outcome.out.find("left out 1 case: the sweep ran out of time") != std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("outcome"), std::string::npos)
      << "a table of no rows: " << outcome.out;
}

TEST_F(ConfirmCommand, HoldsASweepAgainstGlooAndLeavesItsResultsAlone) {
  write_text(folder.file("spec.yaml"),
             "lockstep: 1\nname: tiny\nmodel: {preset: tiny-linear}\n"
             "recipe: {steps: 1, global_batch: 2}\naxes: {tp: [1, 2], dp: [1, 2]}\n");
  ASSERT_EQ(run_lockstep({"sweep", "spec.yaml", "--out", "."}, folder.path()).exit_code, 0);
  const std::string before = read_text(folder.file("results.jsonl"));
  const CommandOutcome outcome = run({".", "--comm", "gloo", "--limit", "2"});
  EXPECT_EQ(outcome.exit_code, has_gloo() ? 0 : kNotBuilt) << outcome.out << outcome.err;
  EXPECT_EQ(read_text(folder.file("results.jsonl")), before);
  if (!has_gloo()) return;
  EXPECT_NE(outcome.out.find("2 of 4 cases that fit"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("2 agree, 0 disagree"), std::string::npos) << outcome.out;
  const std::string lines = read_text(folder.file("confirm-gloo/results.jsonl"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_NE(read_text(folder.file("confirm-gloo/confirmation.json")).find("\"agree\":2"),
            std::string::npos);
}

TEST_F(ConfirmCommand, Exits1WhereTheSweepWasOfAnotherBuild) {
  matrix::CaseResult result = sample_result("tiny", 1, Verdict::kPass);
  result.c.recipe.steps = 1;
  result.c.recipe.global_batch = 2;
  result.c.layout.dp = 2;
  write_results(matrix::result_to_json(result) + "\n");
  const CommandOutcome outcome = run({".", "--comm", "gloo"});
  EXPECT_EQ(outcome.exit_code, has_gloo() ? 1 : kNotBuilt) << outcome.out << outcome.err;
  EXPECT_EQ(has_gloo(), outcome.out.find("DISAGREE: the sweep's digest is") != std::string::npos)
      << outcome.out;
}

}  // namespace
}  // namespace lockstep::test
