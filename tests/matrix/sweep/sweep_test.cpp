// A sweep over worker processes that crash, hang, lie and are interrupted.
#include "matrix/sweep/sweep.h"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <set>
#include <sstream>

#include "core/base/errors.h"
#include "matrix/sweep/worker_pool.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::NamedCase;
using matrix::ResultsFile;
using matrix::SweepOptions;
using matrix::SweepOutcome;
using matrix::Verdict;

std::vector<NamedCase> cases_named(const std::vector<std::string>& names) {
  std::vector<NamedCase> cases;
  for (const std::string& name : names) {
    const auto seed = static_cast<std::int64_t>(cases.size());
    cases.push_back({.name = name, .c = sample_case(seed), .invalid_reason = ""});
  }
  return cases;
}

std::vector<std::size_t> all_of(const std::vector<NamedCase>& cases) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < cases.size(); ++i) indices.push_back(i);
  return indices;
}

SweepOptions fake_options(std::size_t num_jobs) {
  SweepOptions options;
  options.name = "test";
  options.worker_command = {FAKE_WORKER};
  options.num_jobs = num_jobs;
  return options;
}

SweepOutcome sweep(const std::vector<NamedCase>& cases,
                   const SweepOptions& options,
                   const std::string& folder) {
  ResultsFile results(folder);
  matrix::Progress silent(stderr, matrix::Progress::Style::kSilent);
  return run_sweep(cases, all_of(cases), options, results, silent);
}

std::vector<CaseResult> read_results(const std::string& folder) {
  std::istringstream lines(read_text(folder + "/results.jsonl"));
  std::vector<CaseResult> results;
  std::string line;
  while (std::getline(lines, line)) results.push_back(matrix::result_from_json(line));
  return results;
}

CaseResult result_named(const std::string& folder, const std::string& name) {
  for (const CaseResult& result : read_results(folder)) {
    if (result.name == name) return result;
  }
  ADD_FAILURE() << "no result named " << name;
  return {};
}

TEST(Sweep, RunsEveryCaseOnceOverSeveralWorkers) {
  const TemporaryFolder folder;
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) names.push_back("case" + std::to_string(i));
  const SweepOutcome outcome = sweep(cases_named(names), fake_options(3), folder.path());
  EXPECT_EQ(outcome.num_workers, 3U);
  EXPECT_EQ(outcome.summary.count(Verdict::kPass), 50);
  EXPECT_GT(outcome.summary.cases_per_second, 0.0);
  std::set<std::string> seen;
  std::set<std::string> processes;
  for (const CaseResult& result : read_results(folder.path())) {
    seen.insert(result.name);
    processes.insert(result.digest);
  }
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_LE(processes.size(), 3U);
}

TEST(Sweep, StartsNoMoreWorkersThanCases) {
  const TemporaryFolder folder;
  EXPECT_EQ(sweep(cases_named({"a", "b"}), fake_options(16), folder.path()).num_workers, 2U);
}

TEST(Sweep, HandsOnEachResultWithItsIndexAndKeptOnesToo) {
  const TemporaryFolder folder;
  const std::vector<NamedCase> cases = cases_named({"a", "b", "exit"});
  std::map<std::size_t, std::string> seen;
  SweepOptions options = fake_options(2);
  options.on_result = [&](std::size_t index, const CaseResult& result) {
    EXPECT_TRUE(seen.emplace(index, result.name).second) << result.name;
  };
  sweep(cases, options, folder.path());
  const std::map<std::size_t, std::string> all = {{0, "a"}, {1, "b"}, {2, "exit"}};
  EXPECT_EQ(seen, all);
  seen.clear();
  options.resume = true;
  EXPECT_EQ(sweep(cases, options, folder.path()).num_kept, 2U);
  EXPECT_EQ(seen, all);
}

TEST(Sweep, ReplacesAWorkerThatSaysThatItIsSpentAndKeepsItsLastResult) {
  const TemporaryFolder folder;
  const SweepOutcome outcome =
      sweep(cases_named({"a", "spent", "b", "c"}), fake_options(1), folder.path());
  EXPECT_EQ(outcome.summary.count(Verdict::kPass), 4);
  const auto process_of = [&](const std::string& name) {
    return result_named(folder.path(), name).digest;
  };
  EXPECT_EQ(process_of("a"), process_of("spent"));
  EXPECT_NE(process_of("spent"), process_of("b"));
  EXPECT_EQ(process_of("b"), process_of("c"));
}

TEST(Sweep, ResumingTakesNoLineOfAnotherDeviceForItsOwn) {
  const TemporaryFolder folder;
  const std::vector<NamedCase> cases = cases_named({"a", "b"});
  sweep(cases, fake_options(1), folder.path());
  SweepOptions options = fake_options(1);
  options.resume = true;
  options.device = "cuda";
  const SweepOutcome outcome = sweep(cases, options, folder.path());
  EXPECT_EQ(outcome.num_kept, 0U);
  EXPECT_EQ(outcome.num_dropped, 2U);
  EXPECT_EQ(result_named(folder.path(), "a").reason,
            "the worker's answer cannot be used: it was run on cpu");
}

TEST(Sweep, LosesOneCaseToACrashAndGoesOn) {
  const TemporaryFolder folder;
  const SweepOutcome outcome =
      sweep(cases_named({"a", "segv", "b", "exit", "c"}), fake_options(1), folder.path());
  EXPECT_EQ(outcome.summary.count(Verdict::kPass), 3);
  EXPECT_EQ(outcome.summary.count(Verdict::kError), 2);
  EXPECT_EQ(result_named(folder.path(), "segv").reason,
            "the worker was lost: killed by signal 11 (Segmentation fault): about to fall");
  EXPECT_EQ(result_named(folder.path(), "exit").reason, "the worker was lost: exited with code 3");
  EXPECT_NE(result_named(folder.path(), "b").digest, result_named(folder.path(), "a").digest);
  EXPECT_EQ(matrix::exit_code_of(outcome), 1);
}

TEST(Sweep, KillsAHangAtItsTimeLimitAndGoesOn) {
  const TemporaryFolder folder;
  SweepOptions options = fake_options(1);
  options.timeout_s = 0.3;
  const SweepOutcome outcome = sweep(cases_named({"hang", "b"}), options, folder.path());
  EXPECT_EQ(outcome.summary.count(Verdict::kTimeout), 1);
  EXPECT_EQ(outcome.summary.count(Verdict::kPass), 1);
  const CaseResult hung = result_named(folder.path(), "hang");
  EXPECT_EQ(hung.reason, "no result within the time limit: about to hang");
  EXPECT_GE(hung.seconds, 0.3);
}

TEST(Sweep, TakesAnExceptionOfACaseAsItsError) {
  const TemporaryFolder folder;
  sweep(cases_named({"throw", "b"}), fake_options(1), folder.path());
  const CaseResult thrown = result_named(folder.path(), "throw");
  EXPECT_EQ(thrown.verdict, Verdict::kError);
  EXPECT_EQ(thrown.reason, "thrown on purpose");
  EXPECT_EQ(result_named(folder.path(), "b").verdict, Verdict::kPass);
}

TEST(Sweep, IsNotConfusedByWhatACasePrints) {
  const TemporaryFolder folder;
  const SweepOutcome outcome =
      sweep(cases_named({"print1", "print2"}), fake_options(1), folder.path());
  EXPECT_EQ(outcome.summary.count(Verdict::kPass), 2);
}

TEST(Sweep, TrustsNoAnswerThatIsNotThatOfTheCase) {
  const TemporaryFolder folder;
  const SweepOutcome outcome = sweep(cases_named({"rename", "b"}), fake_options(1), folder.path());
  EXPECT_EQ(outcome.summary.count(Verdict::kPass), 1);
  EXPECT_NE(result_named(folder.path(), "rename").reason.find("that of another case"),
            std::string::npos);
  SweepOptions echo = fake_options(1);
  echo.worker_command = {"/bin/cat"};
  EXPECT_EQ(sweep(cases_named({"a", "b"}), echo, folder.path()).summary.count(Verdict::kError), 2);
}

TEST(Sweep, RefusesAWorkerThatCannotBeStarted) {
  const TemporaryFolder folder;
  SweepOptions options = fake_options(1);
  options.worker_command = {folder.file("missing")};
  EXPECT_THROW(sweep(cases_named({"a"}), options, folder.path()), matrix::LaunchError);
}

TEST(Sweep, RecordsInvalidCasesWithoutRunningThem) {
  const TemporaryFolder folder;
  std::vector<NamedCase> cases = cases_named({"segv"});
  cases[0].invalid_reason = "cannot exist";
  const SweepOutcome outcome = sweep(cases, fake_options(1), folder.path());
  EXPECT_EQ(outcome.summary.count(Verdict::kInvalid), 1);
  EXPECT_EQ(outcome.num_workers, 0U);
  EXPECT_EQ(result_named(folder.path(), "segv").reason, "cannot exist");
  EXPECT_EQ(matrix::exit_code_of(outcome), 4);
}

TEST(Sweep, ResumesWithWhatIsMissingOrChanged) {
  const TemporaryFolder folder;
  std::vector<NamedCase> cases = cases_named({"a", "b", "c"});
  sweep(cases, fake_options(1), folder.path());
  const std::string before = result_named(folder.path(), "a").digest;
  const std::string text = read_text(folder.file("results.jsonl"));
  write_text(folder.file("results.jsonl"), text.substr(0, text.size() - 10));
  cases[1].c.recipe.seed = 99;
  SweepOptions options = fake_options(1);
  options.resume = true;
  const SweepOutcome outcome = sweep(cases, options, folder.path());
  EXPECT_EQ(outcome.num_kept, 1U);
  EXPECT_EQ(outcome.num_dropped, 2U);
  EXPECT_EQ(outcome.summary.count(Verdict::kPass), 3);
  EXPECT_EQ(read_results(folder.path()).size(), 3U);
  EXPECT_EQ(result_named(folder.path(), "a").digest, before);
  EXPECT_EQ(result_named(folder.path(), "b").c.recipe.seed, 99);
}

TEST(Sweep, RunsErrorsAgainOnResumeButOnlyWhereTheyAreSelected) {
  const TemporaryFolder folder;
  const std::vector<NamedCase> cases = cases_named({"a", "segv", "exit"});
  matrix::Progress silent(stderr, matrix::Progress::Style::kSilent);
  sweep(cases, fake_options(1), folder.path());
  SweepOptions options = fake_options(1);
  options.resume = true;
  ResultsFile results(folder.path());
  const SweepOutcome outcome = run_sweep(cases, {0, 1}, options, results, silent);
  EXPECT_EQ(outcome.num_kept, 2U);  // the pass, and the error that is not selected
  EXPECT_EQ(outcome.num_undecided, 1U);
  EXPECT_EQ(outcome.num_dropped, 0U);
  EXPECT_EQ(outcome.summary.count(Verdict::kError), 2);
  EXPECT_EQ(read_results(folder.path()).size(), 3U);
}

TEST(Sweep, KeepsResultsOfOtherShardsOnResume) {
  const TemporaryFolder folder;
  const std::vector<NamedCase> cases = cases_named({"a", "b"});
  matrix::Progress silent(stderr, matrix::Progress::Style::kSilent);
  SweepOptions options = fake_options(1);
  options.resume = true;
  for (const std::size_t index : {0U, 1U}) {
    ResultsFile results(folder.path());
    run_sweep(cases, {index}, options, results, silent);
  }
  EXPECT_EQ(read_results(folder.path()).size(), 2U);
}

TEST(Sweep, WritesASummaryAndLeavesNoOtherFiles) {
  const TemporaryFolder folder;
  sweep(cases_named({"a"}), fake_options(1), folder.path());
  EXPECT_NE(read_text(folder.file("summary.json")).find("\"pass\":1"), std::string::npos);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files.insert(entry.path().filename());
  }
  EXPECT_EQ(files, (std::set<std::string>{"results.jsonl", "summary.json"}));
}

TEST(WorkerPool, StopsAtAnInterruptAndKeepsWhatIsDone) {
  std::size_t num_given = 0;
  std::size_t num_done = 0;
  const matrix::WorkerPoolHooks hooks{
      .next = [&](std::size_t) { return std::optional<std::size_t>(num_given++); },
      .request = [](std::size_t) { return std::string("x"); },
      .done =
          [&](std::size_t, const matrix::WorkerAnswer&) {
            if (++num_done == 5) std::raise(SIGINT);
            return true;
          },
      .tick = [] {}};
  const matrix::PoolEnd end = matrix::run_worker_pool(
      {.command = {"/bin/cat"}, .num_workers = 1, .timeout_s = 60.0}, hooks);
  EXPECT_EQ(end, matrix::PoolEnd::kInterrupted);
  EXPECT_GE(num_done, 5U);
}

TEST(WorkerPool, PassesOnWhatAHookThrows) {
  const matrix::WorkerPoolHooks hooks{
      .next = [](std::size_t) { return std::optional<std::size_t>(0); },
      .request = [](std::size_t) { return std::string("x"); },
      .done = [](std::size_t, const matrix::WorkerAnswer&) -> bool {
        throw UsageError("the disk is full");
      },
      .tick = [] {}};
  EXPECT_THROW(matrix::run_worker_pool(
                   {.command = {"/bin/cat"}, .num_workers = 2, .timeout_s = 60.0}, hooks),
               UsageError);
}

}  // namespace
}  // namespace lockstep::test
