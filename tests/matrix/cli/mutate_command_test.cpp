// Mutations as a user runs them: what is caught, missed and unreached, and the exit codes.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "matrix/sweep/case_result.h"
#include "tests/matrix/cli/run_lockstep.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

const char* const kHead = "lockstep: 1\nname: tiny\nmodel: {preset: tiny-linear}\n";
const char* const kMissing = "B27-dp-reduction-missing";
const char* const kCopies = "B57-copies-counted-in-the-norm";
const char* const kTwice = "T21-dp-reduction-twice";

class MutateCommand : public ::testing::Test {
 protected:
  void write_spec(const std::string& rest) {
    write_text(folder.file("spec.yaml"), std::string(kHead) + rest);
  }
  CommandOutcome run(std::vector<std::string> options) {
    options.insert(options.begin(), {"mutate", "spec.yaml"});
    return run_lockstep(options, folder.path());
  }
  std::string file(const std::string& name) const {
    return folder.file("lockstep-out/tiny-mutate/" + name);
  }
  // Of the results; every line must be readable and no name come twice.
  std::set<std::string> names() const {
    std::istringstream lines(read_text(file("results.jsonl")));
    std::set<std::string> found;
    std::string line;
    while (std::getline(lines, line)) {
      const std::string name = matrix::result_from_json(line).name;
      EXPECT_TRUE(found.insert(name).second) << name;
    }
    return found;
  }

  TemporaryFolder folder;
};

TEST_F(MutateCommand, EndsWithZeroWhereEveryDefectIsCaught) {
  write_spec("axes: {tp: [1, 2], dp: [1, 3]}\n");
  const CommandOutcome outcome =
      run({"--defect", kTwice, "--defect", kCopies, "--defect", kMissing, "--defect", kTwice});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("tiny: 3 defects x 4 cases, 16 runs in ")) << outcome.out;
  EXPECT_NE(outcome.out.find("clean  4 of 4 pass\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("score    3 of 3 defects caught; 6 of 6 cases"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("replay"), std::string::npos) << "nothing is missed";
  EXPECT_NE(outcome.err.find("16 of 16 runs, "), std::string::npos) << outcome.err;
  EXPECT_EQ(read_text(file("summary.json")).find("headroom"), std::string::npos)
      << "it would be that of wrong runs";
  EXPECT_EQ(names().size(), 16U);
  EXPECT_TRUE(names().contains("tp2.dp3"));
  EXPECT_TRUE(names().contains("tp2.dp3+B27-dp-reduction-missing"));
}

TEST_F(MutateCommand, TellsADefectThatNoCaseReachesAndEndsWithOne) {
  write_spec("axes: {tp: [1, 2], dp: [1]}\n");
  const CommandOutcome outcome = run({"--defect", kMissing});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("B27-dp-reduction-missing         unreached          0/0"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("visible when dp > 1"), std::string::npos) << outcome.out;
}

// The loss of a single step comes before the gradients that are wrong.
TEST_F(MutateCommand, TellsADefectThatTheSpecsChecksMissAndHowToReplayIt) {
  write_spec("recipe: {steps: 1}\naxes: {dp: [1, 3]}\nchecks: [loss]\n");
  const CommandOutcome outcome = run({"--defect", kTwice});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("missed, where they are visible:\n  T21-dp-reduction-twice in dp3\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("run --case @lockstep-out/tiny-mutate/first-missed.json\n"),
            std::string::npos)
      << outcome.out;
  const CommandOutcome replay =
      run_lockstep({"run", "--case", "@lockstep-out/tiny-mutate/first-missed.json"}, folder.path());
  EXPECT_EQ(matrix::result_from_json(replay.out).c.defects, std::vector<std::string>{kTwice});
  EXPECT_EQ(replay.exit_code, 1) << "all checks together see it";
}

TEST_F(MutateCommand, LeavesNothingOfAnEarlierOutcomeBesideTheNext) {
  write_spec("recipe: {steps: 1}\naxes: {dp: [1, 3]}\nchecks: [loss]\n");
  EXPECT_EQ(run({"--defect", kTwice}).exit_code, 1);
  EXPECT_TRUE(std::filesystem::exists(file("first-missed.json")));
  write_spec("recipe: {steps: 1}\naxes: {dp: [1, 3]}\n");
  EXPECT_EQ(run({"--defect", kTwice}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(file("first-missed.json")));
}

TEST_F(MutateCommand, TakesEveryDefectUnlessSomeAreNamed) {
  write_spec("axes: {tp: [1, 2], dp: [1, 3]}\n");
  const CommandOutcome outcome = run({"--limit", "1", "--format", "json"});
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_GE(json["defects"].size(), 5U);
  EXPECT_EQ(json["score"]["defects"], json["defects"].size());
  EXPECT_EQ(json["runs"], json["defects"].size() + 1);
}

TEST_F(MutateCommand, PrintsWhatItWritesAsJsonAndATableAsMarkdown) {
  write_spec("axes: {dp: [1, 3]}\n");
  const CommandOutcome outcome = run({"--defect", kMissing, "--format", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, read_text(file("mutation.json")));
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["name"], "tiny");
  EXPECT_EQ(json["clean"]["passed"], 2);
  EXPECT_EQ(json["defects"][0]["id"], kMissing);
  EXPECT_EQ(json["defects"][0]["cases"]["inert"], 1);
  EXPECT_EQ(json["defects"][0]["cases"]["caught"], 1);
  EXPECT_EQ(json["defects"][0]["case"], "dp3");
  const CommandOutcome page = run({"--defect", kMissing, "--format", "markdown"});
  EXPECT_TRUE(page.out.starts_with("### tiny: 1 of 1 defect caught")) << page.out;
}

TEST_F(MutateCommand, EndsWithTwoForADefectThatIsNone) {
  write_spec("axes: {dp: [1, 3]}\n");
  const CommandOutcome outcome = run({"--defect", "B27-dp-reduction-mising"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("did you mean 'B27-dp-reduction-missing'?"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(file("results.jsonl")));
  EXPECT_EQ(run({"--format", "html"}).exit_code, 2);
  EXPECT_EQ(run({"--jobs", "0"}).exit_code, 2);
}

TEST_F(MutateCommand, EndsWithFourWhereAllIsInvalidOrNothingIsSelected) {
  write_spec("axes: {tp: [1, 2], dp: [5]}\n");
  const CommandOutcome invalid = run({"--defect", kMissing});
  EXPECT_EQ(invalid.exit_code, 4) << invalid.out << invalid.err;
  EXPECT_NE(invalid.out.find("invalid, by reason:\n        2  global_batch"), std::string::npos)
      << invalid.out;
  EXPECT_EQ(run({"--only", "tp > 100"}).exit_code, 4);
}

TEST_F(MutateCommand, LeavesInvalidCasesOutAndTellsThem) {
  write_spec("axes: {dp: [1, 3, 5]}\n");
  const CommandOutcome outcome = run({"--defect", kMissing});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("tiny: 1 defect x 2 cases, 4 runs in ")) << outcome.out;
  EXPECT_NE(outcome.out.find("invalid, by reason:"), std::string::npos) << outcome.out;
}

TEST_F(MutateCommand, ResumesAndKeepsWhatOtherDefectsGave) {
  write_spec("axes: {dp: [1, 3]}\n");
  EXPECT_EQ(run({"--defect", kMissing}).exit_code, 0);
  const CommandOutcome outcome = run({"--resume", "--defect", kTwice});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("tiny: 1 defect x 2 cases, 4 runs in ")) << outcome.out;
  EXPECT_NE(outcome.out.find("4 kept from before"), std::string::npos) << outcome.out;
  EXPECT_EQ(names().size(), 6U);
  const CommandOutcome again = run({"--resume", "--defect", kTwice, "--defect", kMissing});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_NE(again.out.find("score    2 of 2 defects caught"), std::string::npos) << again.out;
  EXPECT_EQ(names().size(), 6U);
}

TEST_F(MutateCommand, StopsAtAnInterruptWithWhatIsDone) {
  std::string seeds = "0";
  for (int i = 1; i < 5000; ++i) seeds += ", " + std::to_string(i);
  write_spec("axes: {seed: [" + seeds + "]}\n");
  const pid_t pid = start_lockstep({"mutate", "spec.yaml", "--defect", kMissing}, folder.path());
  ASSERT_TRUE(wait_for_lines(file("results.jsonl"), 5, pid));
  ::kill(pid, SIGINT);
  const CommandOutcome outcome = wait_for_lockstep(pid, folder.path());
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.out.find(", interrupted"), std::string::npos) << outcome.out;
  EXPECT_NE(read_text(file("mutation.json")).find("\"interrupted\":true"), std::string::npos);
  EXPECT_GE(names().size(), 5U);
}

}  // namespace
}  // namespace lockstep::test
