// Every wrong input gives one line on standard error and its exit code, and loses nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/nccl/transport.h"
#include "core/tensor/cuda/gpu.h"
#include "tests/matrix/cli/run_lockstep.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

const char* const kSpec =
    "lockstep: 1\n"
    "name: tiny\n"
    "model: {preset: tiny-linear}\n"
    "axes: {tp: [1, 2]}\n";

using Words = std::vector<std::string>;

// Expects the exit code, nothing on standard output, and one line that holds `part`.
void expect_refusal(const Words& words, int exit_code, const std::string& part) {
  const TemporaryFolder folder;
  write_text(folder.file("spec.yaml"), kSpec);
  const CommandOutcome outcome = run_lockstep(words, folder.path());
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("lockstep: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder.file("lockstep-out/tiny/results.jsonl")));
}

void expect_spec_refused(const std::string& text, const std::string& part) {
  const TemporaryFolder folder;
  write_text(folder.file("bad.yaml"), text);
  const CommandOutcome outcome = run_lockstep({"sweep", "bad.yaml"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("bad.yaml"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST(BadSpec, ThatIsNoYamlIsRefused) { expect_spec_refused("axes: [1, 2\n", "bad.yaml:"); }
TEST(BadSpec, ThatIsEmptyIsRefused) { expect_spec_refused("", ""); }
TEST(BadSpec, ThatIsAListIsRefused) { expect_spec_refused("- 1\n- 2\n", "bad.yaml:1"); }
TEST(BadSpec, WithAnUnknownKeyIsRefusedWithTheNearest) {
  expect_spec_refused(std::string(kSpec) + "wher: [\"tp > 1\"]\n", "'where'");
}
TEST(BadSpec, WithAValueOfTheWrongTypeIsRefused) {
  expect_spec_refused("lockstep: 1\nname: a\nmodel: {preset: tiny-linear}\naxes: {tp: [two]}\n",
                      "bad.yaml:4");
}
TEST(BadSpec, WithAnUnknownFieldInWhereIsRefused) {
  expect_spec_refused(std::string(kSpec) + "where: [\"tpp > 1\"]\n", "tpp");
}
TEST(BadSpec, WithAnEmptyAxisIsRefused) {
  expect_spec_refused("lockstep: 1\nname: a\nmodel: {preset: tiny-linear}\naxes: {tp: []}\n",
                      "bad.yaml:4");
}
TEST(BadSpec, WithAKeyTwiceIsRefused) {
  expect_spec_refused(std::string(kSpec) + "name: again\n", "name");
}
TEST(BadSpec, WithAWorldThatIsTooLargeIsRefused) {
  expect_spec_refused(
      "lockstep: 1\nname: a\nmodel: {preset: tiny-linear}\naxes: {tp: [4096], dp: [2]}\n", "4096");
}
TEST(BadSpec, WithANumberThatOverflowsIsRefused) {
  expect_spec_refused(
      "lockstep: 1\nname: a\nmodel: {preset: tiny-linear}\naxes: {tp: [99999999999999999999]}\n",
      "bad.yaml:4");
}
TEST(BadSpec, ThatIsMissingIsRefused) {
  expect_refusal({"sweep", "missing.yaml"}, 2, "missing.yaml");
  expect_refusal({"sweep", "."}, 2, "");
}

TEST(BadOption, OnlyThatIsNoExpressionIsRefused) {
  expect_refusal({"sweep", "spec.yaml", "--only", "tp >"}, 2, "--only");
  expect_refusal({"sweep", "spec.yaml", "--only", "tpp > 1"}, 2, "tpp");
}

TEST(BadOption, AnUnknownDefectIsRefused) {
  expect_refusal({"sweep", "spec.yaml", "--defect", "B00-nothing"}, 2, "B00-nothing");
  expect_refusal({"sweep", "spec.yaml", "--defect", "B27"}, 2, "'B27-dp-reduction-missing'?");
  expect_refusal({"sweep", "spec.yaml", "--defect", "B"}, 2, "' or 'B27-dp-reduction-missing'");
}

TEST(BadOption, AnOutThatCannotBeWrittenIsRefusedBeforeAnythingRuns) {
  expect_refusal({"sweep", "spec.yaml", "--out", "/proc/lockstep"}, 2, "/proc/lockstep");
  expect_refusal({"sweep", "spec.yaml", "--out", "spec.yaml"}, 2, "spec.yaml");
}

TEST(BadOption, AShardOutsideItsCountIsRefused) {
  for (const char* shard : {"5/3", "0/3", "a/b", "1", "1/0", "-1/3", "1/2/3", ""}) {
    if (*shard != '\0') expect_refusal({"sweep", "spec.yaml", "--shard", shard}, 2, "shard");
  }
}

TEST(BadOption, NumbersOutsideTheirRangeAreRefused) {
  expect_refusal({"sweep", "spec.yaml", "--jobs", "-1"}, 2, "--jobs: expected an integer");
  expect_refusal({"sweep", "spec.yaml", "--jobs", "0"}, 2, "--jobs");
  expect_refusal({"sweep", "spec.yaml", "--jobs", "two"}, 2, "--jobs");
  expect_refusal({"sweep", "spec.yaml", "--jobs", "99999999999999999999"}, 2, "--jobs");
  expect_refusal({"sweep", "spec.yaml", "--limit", "0"}, 2, "--limit");
  expect_refusal({"sweep", "spec.yaml", "--timeout", "0"}, 2, "--timeout");
  expect_refusal({"sweep", "spec.yaml", "--timeout", "nan"}, 2, "--timeout");
  expect_refusal({"sweep", "spec.yaml", "--timeout", "1e300"}, 2, "at most 1000000");
  expect_refusal({"sweep", "spec.yaml", "--seed", "-3"}, 2, "--seed");
  expect_refusal({"sweep", "spec.yaml", "--seed", "9007199254740993"}, 2, "--seed");
}

TEST(BadOption, WithoutAValueIsRefusedInsteadOfTakenAsNotGiven) {
  expect_refusal({"sweep", "spec.yaml", "--shard", ""}, 2, "--shard: expected I/N, got nothing");
  expect_refusal({"sweep", "spec.yaml", "--only="}, 2, "--only: expected EXPR, got nothing");
  expect_refusal({"sweep", "spec.yaml", "--out=", "--limit", "1"}, 2, "--out: expected DIR");
  expect_refusal({"sweep", "spec.yaml", "--defect", ""}, 2, "unknown defect ''");
}

TEST(BadOption, GivenTwiceIsRefused) {
  expect_refusal(
      {"sweep", "spec.yaml", "--limit", "1", "--limit=2"}, 2, "--limit is given 2 times");
}

TEST(BadOption, AnUnknownDeviceOrBackendIsBadUsage) {
  expect_refusal({"sweep", "spec.yaml", "--device", "tpu"}, 2, "tpu");
  expect_refusal({"sweep", "spec.yaml", "--comm", "mpi"}, 2, "mpi");
  expect_refusal({"sweep", "spec.yaml", "--ranks", "fibres"}, 2, "did you mean 'fibers'");
}

// What there is on a machine with a GPU runs; elsewhere it is told why not.
TEST(BadOption, ADeviceOrBackendThatThisMachineLacksIsToldWithTheReason) {
  const std::string no_cuda = why_no_cuda();
  const std::string no_nccl = backends::why_no_nccl(1);
  for (const char* command : {"sweep", "mutate"}) {
    if (!no_cuda.empty()) {
      expect_refusal({command, "spec.yaml", "--device", "cuda"}, 3, "--device cuda: " + no_cuda);
    }
    if (!no_nccl.empty()) {
      expect_refusal({command, "spec.yaml", "--comm", "nccl"}, 3, "--comm nccl: " + no_nccl);
    }
  }
  if (!no_cuda.empty()) {
    expect_refusal({"run", "--case", "{}", "--device", "cuda"}, 3, "--device cuda: " + no_cuda);
  }
}

TEST(BadOption, DevicesAndBackendsThatDoNotGoTogetherAreBadUsage) {
  expect_refusal({"sweep", "spec.yaml", "--device", "cpu", "--comm", "nccl"},
                 2,
                 "--comm nccl connects GPUs and goes with --device cuda, got --device cpu");
  expect_refusal({"sweep", "spec.yaml", "--device", "cuda", "--comm", "gloo"},
                 2,
                 "--comm gloo connects CPUs and goes with --device cpu, got --device cuda");
  expect_refusal({"sweep", "spec.yaml", "--comm", "nccl", "--ranks", "threads"}, 2, "--ranks");
  expect_refusal({"sweep", "spec.yaml", "--gpus", "2"}, 2, "--gpus");
  expect_refusal({"sweep", "spec.yaml", "--device", "cuda", "--gpus", "2"}, 2, "--gpus");
  expect_refusal({"sweep", "spec.yaml", "--comm", "nccl", "--gpus", "0"}, 2, "--gpus: expected an");
  expect_refusal({"run", "--case", "{}", "--comm", "nccl", "--gpus", "all"}, 2, "got 'all'");
}

TEST(BadOption, ASettingThatIsNoneIsRefused) {
  expect_refusal({"sweep", "spec.yaml", "--set", "tp"}, 2, "tp");
  expect_refusal({"sweep", "spec.yaml", "--set", "hiden_size=8"}, 2, "hidden_size");
  expect_refusal({"sweep", "spec.yaml", "--format", "xml"}, 2, "json");
}

TEST(BadCase, ThatIsNoCaseIsRefused) {
  expect_refusal({"run"}, 2, "--case");
  expect_refusal({"run", "--case", "{"}, 2, "--case");
  expect_refusal({"run", "--case", "[]"}, 2, "--case");
  expect_refusal({"run", "--case", "@missing"}, 2, "missing");
  expect_refusal({"run", "--case", "@."}, 2, "is a folder");
  expect_refusal({"run", "--case", "@/dev/zero"}, 2, "larger than");
  expect_refusal({"run", "--case", "{\"tpp\": 2}"}, 2, "tp");
  expect_refusal({"run", "--case", "{\"preset\": \"tiny-linear\", \"tp\": \"two\"}"}, 2, "tp");
  expect_refusal(
      {"run", "--case", "{\"preset\": \"tiny-linear\", \"tp\": 4096, \"dp\": 4096}"}, 2, "4096");
  expect_refusal(
      {"run", "--case", "{\"preset\": \"tiny-linear\", \"defects\": [\"no\"]}"}, 2, "no");
}

TEST(BadCommand, ThatIsUnknownIsRefusedWithTheNearest) {
  expect_refusal({}, 2, "sub-command");
  expect_refusal({"swep"}, 2, "did you mean 'sweep'");
  expect_refusal({"--frobnicate"}, 2, "frobnicate");
  expect_refusal({"--jobs", "2", "sweep", "spec.yaml"}, 2, "after the sub-command");
  expect_refusal({"sweep"}, 2, "SPEC");
  expect_refusal({"sweep", "spec.yaml", "--job", "2"}, 2, "did you mean '--jobs'");
  expect_refusal({"sweep", "spec.yaml", "more"}, 2, "more");
  expect_refusal({"list", "axis"}, 2, "axes");
}

TEST(BadCommand, ThatIsNotBuiltYetSaysSo) {
  for (const char* name : {"explain", "compare", "plan", "report"}) {
    expect_refusal({name, "something", "--flag"}, 2, "not built yet");
  }
  expect_refusal({"run", "--case", "{}", "--trace", "file"}, 2, "not built yet");
  expect_refusal({"run", "--case", "{}", "--dump", "folder"}, 2, "not built yet");
}

}  // namespace
}  // namespace lockstep::test
