// What the command prints where all is well.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/nccl/transport.h"
#include "core/config/case_json.h"
#include "core/config/presets.h"
#include "core/ops/cuda/kernels.h"
#include "matrix/sweep/case_result.h"
#include "tests/matrix/cli/run_lockstep.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

const char* const kSpec =
    "lockstep: 1\n"
    "name: tiny\n"
    "model: {preset: tiny-linear}\n"
    "axes: {tp: [1, 2], dp: [1, 5]}\n";

CommandOutcome run_here(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  write_text(folder.file("spec.yaml"), kSpec);
  return run_lockstep(words, folder.path());
}

TEST(Help, ShowsAnExampleForEverySubCommand) {
  for (const char* name : {"sweep",
                           "expand",
                           "run",
                           "explain",
                           "mutate",
                           "compare",
                           "plan",
                           "confirm",
                           "report",
                           "list"}) {
    const CommandOutcome outcome = run_here({name, "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.out.find("Example:\n  lockstep " + std::string(name)), std::string::npos)
        << outcome.out;
  }
}

TEST(Help, OfAMutationSaysThatADefectNoCaseCouldShowIsNoSuccess) {
  const CommandOutcome outcome = run_here({"mutate", "--help"});
  EXPECT_NE(outcome.out.find("1 also where no case of the spec could show a defect"),
            std::string::npos)
      << outcome.out;
}

TEST(Help, ListsSubCommandsButNotTheWorker) {
  const CommandOutcome outcome = run_here({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("sweep"), std::string::npos);
  EXPECT_EQ(outcome.out.find("worker"), std::string::npos) << outcome.out;
}

TEST(Version, NamesCompilerTargetAndDependencies) {
  const CommandOutcome outcome = run_here({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {"compiler", "-march=", "Boost", "Eigen", "yaml-cpp"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
}

// Of what follows `begin` in the text, the rest of the line.
std::string line_after(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find("\n" + begin);
  if (at == std::string::npos) return "no such line";
  const std::size_t first = at + 1 + begin.size();
  return text.substr(first, text.find('\n', first) - first);
}

TEST(Version, TellsWhatThereIsForGpusAndWhatIsMissingInOneLineEach) {
  const std::string out = run_here({"--version"}).out;
  EXPECT_EQ(line_after(out, "  CUDA          "), cuda_version());
  EXPECT_EQ(line_after(out, "  cuBLAS        "), cublas_version());
  EXPECT_EQ(line_after(out, "  NCCL          ").find(backends::nccl_version()), 0U) << out;
  EXPECT_NE(line_after(out, "  NCCL          ").find(backends::why_no_nccl(1)), std::string::npos);
  const std::string gpus = line_after(out, "  GPUs          ");
  if (num_gpus() == 0) {
    EXPECT_EQ(gpus, "none; " + why_no_cuda());
  }
  for (const GpuName& gpu : gpu_names()) EXPECT_NE(gpus.find(gpu.model), std::string::npos) << gpus;
}

TEST(List, TellsWhyABackendCannotBeUsedHere) {
  const std::string out = run_here({"list", "backends"}).out;
  EXPECT_NE(out.find("why not\n"), std::string::npos) << out;
  const std::string cuda = line_after(out, "--device  cuda     ");
  EXPECT_EQ(cuda.find(why_no_cuda().empty() ? "yes" : "no"), 0U) << out;
  EXPECT_NE(cuda.find(why_no_cuda()), std::string::npos) << out;
}

TEST(List, ShowsEveryTable) {
  EXPECT_NE(run_here({"list", "axes"}).out.find("num_micro_batches"), std::string::npos);
  EXPECT_NE(run_here({"list", "checks"}).out.find("grads"), std::string::npos);
  EXPECT_NE(run_here({"list", "defects"}).out.find("visible when"), std::string::npos);
  EXPECT_NE(run_here({"list", "presets"}).out.find("tiny-linear"), std::string::npos);
  EXPECT_NE(run_here({"list", "backends"}).out.find("inproc"), std::string::npos);
}

TEST(List, DoesNotPadTheConditionsOfDefects) {
  const std::string out = run_here({"list", "defects"}).out;
  EXPECT_NE(out.find("  visible when  summary\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  tp > 1  squares are summed over tp"), std::string::npos) << out;
}

TEST(Expand, ListsCasesWithTheReasonOfInvalidOnes) {
  const CommandOutcome outcome = run_here({"expand", "spec.yaml"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("tp2.dp1"), std::string::npos);
  EXPECT_NE(outcome.out.find("invalid: "), std::string::npos);
  EXPECT_NE(outcome.out.find("4 cases, 2 invalid"), std::string::npos);
}

TEST(Expand, TakesEveryMatrixOfTheProject) {
  int num_matrices = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_MATRICES)) {
    const CommandOutcome outcome = run_here({"expand", entry.path().string()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ++num_matrices;
  }
  EXPECT_GE(num_matrices, 2);
}

TEST(Expand, SplitsCasesOverShardsWithoutLossOrDoubles) {
  std::vector<std::string> lines;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const CommandOutcome outcome =
        run_here({"expand", "spec.yaml", "--format", "json", "--shard", shard});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::string::size_type begin = 0;
    while (begin < outcome.out.size()) {
      const auto end = outcome.out.find('\n', begin);
      lines.push_back(outcome.out.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  EXPECT_EQ(lines.size(), 4U);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(std::unique(lines.begin(), lines.end()), lines.end());
}

TEST(Expand, GivesAJobMatrixOfTheCasesThatCanExist) {
  const CommandOutcome outcome = run_here({"expand", "spec.yaml", "--format", "github"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.starts_with("{\"include\":[{\"name\":\"tp1.dp1\",\"case\":\"{"))
      << outcome.out;
  EXPECT_EQ(outcome.out.find("dp5"), std::string::npos);
}

TEST(Expand, EndsWithFourWhereNothingIsSelected) {
  const CommandOutcome outcome = run_here({"expand", "spec.yaml", "--only", "tp > 100"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("--only"), std::string::npos);
}

TEST(Run, PrintsTheResultLineOfOneCase) {
  const CommandOutcome outcome =
      run_here({"run", "--case", "{\"preset\": \"tiny-linear\", \"tp\": 2, \"dp\": 3}"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const matrix::CaseResult result = matrix::result_from_json(outcome.out);
  EXPECT_EQ(result.verdict, matrix::Verdict::kPass);
  EXPECT_EQ(result.c.layout.dp, 3);
  EXPECT_EQ(result.digest.size(), 16U);
}

TEST(Run, ReadsACaseFromAFile) {
  const TemporaryFolder folder;
  write_text(folder.file("case.json"), case_to_json(preset_case("tiny-linear")) + "\n");
  const CommandOutcome outcome = run_lockstep({"run", "--case", "@case.json"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Run, EndsWithFourForALayoutThatCannotExist) {
  const CommandOutcome outcome =
      run_here({"run", "--case", "{\"preset\": \"tiny-linear\", \"dp\": 5}"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_EQ(matrix::result_from_json(outcome.out).verdict, matrix::Verdict::kInvalid);
}

TEST(Run, GivesTheSameDigestOnFibersAndThreads) {
  const std::string text = "{\"preset\": \"tiny-linear\", \"tp\": 2, \"dp\": 2}";
  const CommandOutcome fibers = run_here({"run", "--case", text, "--ranks", "fibers"});
  const CommandOutcome threads = run_here({"run", "--case", text, "--ranks", "threads"});
  ASSERT_EQ(fibers.exit_code, 0);
  ASSERT_EQ(threads.exit_code, 0);
  EXPECT_EQ(matrix::result_from_json(fibers.out).digest,
            matrix::result_from_json(threads.out).digest);
}

}  // namespace
}  // namespace lockstep::test
