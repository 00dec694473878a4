// The command on GPUs as a user runs it: simulated ranks on one, ranks over NCCL, alone and as
// processes of a launcher, and when a process dies.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "backends/nccl/transport.h"
#include "core/tensor/cuda/gpu.h"
#include "matrix/sweep/case_result.h"
#include "tests/matrix/cli/sweep_fixture.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::Verdict;

const char* const kNote = "note: ranks may share a GPU";

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class GpuCommand : public SweepFixture {
 protected:
  GpuCommand() : SweepFixture("nccl") {}

  void SetUp() override {
    ASSERT_EQ(why_no_cuda(), "");
    ASSERT_EQ(backends::why_no_nccl(2), "");
  }

  CommandOutcome sweep(std::vector<std::string> options, const std::string& out = "out") {
    options.insert(options.begin(), {"sweep", "spec.yaml", "--out", out});
    return run_lockstep(options, folder.path());
  }
  std::vector<CaseResult> results(const std::string& out = "out") const {
    return SweepFixture::results(out);
  }
  std::map<std::string, std::string> digests(const std::string& out) const {
    std::map<std::string, std::string> found;
    for (const CaseResult& result : results(out)) found[result.name] = result.digest;
    return found;
  }
  void expect_passes(int num, const std::string& comm) const {
    EXPECT_EQ(std::ssize(results()), num);
    for (const CaseResult& result : results()) {
      EXPECT_EQ(result.verdict, Verdict::kPass) << result.name << ": " << result.reason;
      EXPECT_EQ(result.comm, comm);
      EXPECT_EQ(result.device, "cuda");
    }
  }

  void expect_passes_but_for_thirty_two_ranks(int num) const {
    EXPECT_EQ(std::ssize(results()), num + 1);
    for (const CaseResult& result : results()) {
      const bool fits = result.c.layout.tp * result.c.layout.dp <= backends::kMaxRanksPerGpu;
      EXPECT_EQ(result.verdict, fits ? Verdict::kPass : Verdict::kSkipped) << result.reason;
      if (fits) continue;
      EXPECT_EQ(result.reason.find("32 ranks would share a GPU"), 0U) << result.reason;
    }
  }

  // Two processes of a launcher pass; what rank 0 told on standard error.
  std::string launch_two(const std::vector<std::string>& options,
                         const VariableOf& variable_of = {}) const {
    const std::vector<CommandOutcome> outcomes = launch(2, options, "127.0.0.1", variable_of);
    for (const CommandOutcome& outcome : outcomes) {
      EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    }
    return outcomes.front().err;
  }
};

// The GPU that process `rank` is to see alone, of those that this one sees.
std::string visible_to(int rank) {
  const char* mask = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream names(mask == nullptr ? "" : mask);
  std::string name;
  for (int i = 0; i <= rank % num_gpus(); ++i) std::getline(names, name, ',');
  return name.empty() ? std::to_string(rank % num_gpus()) : name;
}

// More than share one GPU: it runs where its ranks are spread over two.
const char* const kThirtyTwoRanks = "include: [{tp: 8, dp: 4}]\n";

TEST_F(GpuCommand, SweepsLayoutsOfSimulatedRanksWithTheSameDigestsOnFibersAndThreads) {
  write_spec("axes: {tp: [1, 2], dp: [1, 2]}\n");
  const CommandOutcome outcome = sweep({"--device", "cuda"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("on 1 worker"), std::string::npos) << outcome.out;
  expect_passes(4, "inproc");
  const CommandOutcome again = sweep({"--device", "cuda", "--ranks", "threads"}, "again");
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_EQ(digests("again"), digests("out"));
}

TEST_F(GpuCommand, SweepsLayoutsOverNcclAndTellsOnceWhatSharingNeeds) {
  write_spec("axes: {tp: [1, 2], dp: [1, 2, 4]}\n");
  const CommandOutcome outcome = sweep({"--comm", "nccl", "--gpus", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_passes(6, "nccl");
  EXPECT_EQ(count(outcome.err, kNote), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("NCCL_MULTI_RANK_GPU_ENABLE=1"), std::string::npos) << outcome.err;
}

TEST_F(GpuCommand, SaysNothingOfSharingWhereEachRankHasAGpu) {
  write_spec("axes: {dp: [1, 2, 4]}\nwhere: [world <= " + std::to_string(num_gpus()) + "]\n");
  const CommandOutcome outcome = sweep({"--comm", "nccl"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(count(outcome.err, kNote), 0) << outcome.err;
  expect_passes(num_gpus() >= 4 ? 3 : std::min(num_gpus(), 2), "nccl");
}

TEST_F(GpuCommand, RefusesMoreGpusThanThereAre) {
  write_spec("axes: {tp: [1]}\n");
  const CommandOutcome outcome = sweep({"--comm", "nccl", "--gpus", "99"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--gpus: this process sees " + std::to_string(num_gpus()) + " GPU"),
            std::string::npos)
      << outcome.err;
}

TEST_F(GpuCommand, SkipsALayoutOfMoreRanksThanShareAGpu) {
  write_spec(std::string("axes: {tp: [1, 2], dp: [1]}\n") + kThirtyTwoRanks);
  const CommandOutcome outcome = sweep({"--comm", "nccl", "--gpus", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_passes_but_for_thirty_two_ranks(2);
}

TEST_F(GpuCommand, ConfirmsASweepOfSimulatedRanks) {
  write_spec("axes: {tp: [1, 2], dp: [1, 2]}\n");
  ASSERT_EQ(sweep({}).exit_code, 0);
  const CommandOutcome outcome =
      run_lockstep({"confirm", "out", "--comm", "nccl", "--gpus", "1"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("4 agree, 0 disagree"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(", bound 1e-10"), std::string::npos) << outcome.out;
}

TEST_F(GpuCommand, TellsHowToReplayAFailureAsItRan) {
  write_spec("axes: {dp: [2]}\n");
  const std::string defect = "B27-dp-reduction-missing";
  const CommandOutcome simulated = sweep({"--defect", defect, "--device", "cuda"});
  EXPECT_EQ(simulated.exit_code, 1) << simulated.out << simulated.err;
  EXPECT_NE(simulated.out.find("first-failure.json --device cuda\n"), std::string::npos)
      << simulated.out;
  const CommandOutcome real = sweep({"--defect", defect, "--comm", "nccl", "--gpus", "1"});
  EXPECT_EQ(real.exit_code, 1) << real.out << real.err;
  EXPECT_NE(real.out.find("first-failure.json --comm nccl --gpus 1\n"), std::string::npos)
      << real.out;
}

TEST_F(GpuCommand, TakesNoResultsOfAGpuForASweepToConfirm) {
  write_spec("axes: {tp: [1]}\n");
  ASSERT_EQ(sweep({"--device", "cuda"}).exit_code, 0);
  const CommandOutcome outcome = run_lockstep({"confirm", "out", "--comm", "nccl"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("ran on cuda"), std::string::npos) << outcome.err;
}

TEST_F(GpuCommand, AHostProcessKilledInMidSweepCostsTheCaseItRanAndNoOther) {
  std::string seeds;
  for (int i = 0; i < 12; ++i) seeds += (i == 0 ? "" : ", ") + std::to_string(i);
  write_spec("axes: {seed: [" + seeds + "], tp: [2]}\n");
  const pid_t pid =
      start_lockstep({"sweep", "spec.yaml", "--out", "out", "--comm", "nccl"}, folder.path());
  ASSERT_TRUE(wait_for_lines(folder.file("out/results.jsonl"), 2, pid));
  const std::vector<std::string> workers = children_of(pid);
  ASSERT_EQ(workers.size(), 1U);
  const std::vector<std::string> hosts = children_of(std::stoi(workers.front()));
  ASSERT_EQ(hosts.size(), 1U);
  ::kill(std::stoi(hosts.front()), SIGKILL);
  const CommandOutcome outcome = wait_for_lockstep(pid, folder.path());
  ASSERT_EQ(results().size(), 12U);
  int num_errors = 0;  // none where it died between two cases
  for (const CaseResult& result : results()) {
    if (result.verdict == Verdict::kPass) continue;
    ++num_errors;
    EXPECT_EQ(result.verdict, Verdict::kError);
    EXPECT_NE(result.reason.find("killed by signal 9 (Killed)"), std::string::npos)
        << result.reason;
  }
  EXPECT_LE(num_errors, 1);
  EXPECT_EQ(outcome.exit_code, num_errors) << outcome.err;
}

TEST_F(GpuCommand, ProcessesOfALauncherShareOneGpu) {
  write_spec("axes: {tp: [1, 2], dp: [1, 2, 4]}\n");
  const std::string told = launch_two({"--gpus", "1"});
  EXPECT_EQ(count(told, kNote), 1) << told;
  expect_passes(6, "nccl");
}

TEST_F(GpuCommand, SpreadsRanksOverAllGpus) {
  write_spec(std::string("axes: {tp: [4], dp: [4]}\n") + kThirtyTwoRanks);
  const CommandOutcome outcome = sweep({"--comm", "nccl"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  if (num_gpus() > 1) return expect_passes(2, "nccl");
  expect_passes_but_for_thirty_two_ranks(1);
}

TEST_F(GpuCommand, ProcessesOfALauncherMaySeeOneGpuEach) {
  write_spec(std::string("axes: {tp: [1, 2], dp: [1, 2]}\n") + kThirtyTwoRanks);
  launch_two({}, [](int rank) { return "CUDA_VISIBLE_DEVICES=" + visible_to(rank); });
  if (num_gpus() > 1) return expect_passes(5, "nccl");
  expect_passes_but_for_thirty_two_ranks(4);
}

// Rank 0 sees a GPU for each of two ranks, rank 1 only the first of them.
TEST_F(GpuCommand, RanksShareAGpuThatAnotherProcessSeesAlone) {
  write_spec("axes: {dp: [2]}\n");
  launch_two({}, [](int rank) {
    return rank == 0 ? std::string() : "CUDA_VISIBLE_DEVICES=" + visible_to(0);
  });
  expect_passes(1, "nccl");
}

}  // namespace
}  // namespace lockstep::test
