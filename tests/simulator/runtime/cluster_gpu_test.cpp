// Ranks that compute on a GPU end as they do on the CPU: what they throw, where they disagree and
// who waits for whom is told in the same words; a fault of the GPU is an error of its rank.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/tensor/cuda/gpu.h"
#include "tests/core/tensor/cuda/gpu_work.h"
#include "tests/support/device_memory.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using sim::ClusterOptions;
using sim::ClusterReport;
using sim::RankHost;

using Program = std::function<void(TestRank&)>;

CollectiveCall sum_of(const Tensor& values, std::string_view label = "test.sum") {
  return {.label = label,
          .kind = CollectiveKind::kAllReduce,
          .input = values.buffer(),
          .output = values.buffer()};
}

class ClusterOnGpu : public testing::Test {
 protected:
  // The report on the GPU, which must be that of the CPU word for word.
  std::string report_of(const Program& program) {
    const std::string on_cpu = to_text(spawn_ranks(4, program));
    for (const RankHost host : {RankHost::kFibers, RankHost::kThreads}) {
      const std::string on_gpu = to_text(spawn_ranks(4, program, {.host = host, .gpu = &gpu_}));
      EXPECT_EQ(on_gpu, on_cpu) << (host == RankHost::kFibers ? "fibers" : "threads");
    }
    return on_cpu;
  }

  void expect_a_right_run() {
    const ClusterReport report =
        spawn_ranks(4,
                    [](TestRank& r) {
                      const auto tp = r.connect(GroupKind::kTp);
                      const Tensor values = r.tensor({1.0 + r.rank.value, 10.0});
                      run_call(*tp, sum_of(values));
                      EXPECT_EQ(values_of(r.device, values), (std::vector<double>{10.0, 40.0}));
                    },
                    {.gpu = &gpu_});
    EXPECT_EQ(to_text(report), "");
  }

  Gpu gpu_{0};
};

TEST_F(ClusterOnGpu, RunsARightProgram) { expect_a_right_run(); }

TEST_F(ClusterOnGpu, TellsARanksErrorAsOnTheCpu) {
  const std::string report = report_of([](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor values = r.tensor({1.0});
    run_call(*tp, sum_of(values));
    if (r.rank.value == 2) throw std::runtime_error("a planted error");
    run_call(*tp, sum_of(values, "test.second"));
  });
  EXPECT_NE(report.find("a planted error"), std::string::npos) << report;
  expect_a_right_run();
}

TEST_F(ClusterOnGpu, TellsAMismatchAsOnTheCpu) {
  const std::string report = report_of([](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor values = r.tensor({1.0});
    run_call(*tp, sum_of(values, r.rank.value == 1 ? "test.other" : "test.sum"));
  });
  EXPECT_NE(report.find("'test.other' where the others call"), std::string::npos) << report;
  expect_a_right_run();
}

TEST_F(ClusterOnGpu, TellsADeadlockAsOnTheCpu) {
  const std::string report = report_of([](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor values = r.tensor({1.0});
    if (r.rank.value != 3) run_call(*tp, sum_of(values));
  });
  EXPECT_NE(report.find("missing: rank 3"), std::string::npos) << report;
  expect_a_right_run();
}

TEST_F(ClusterOnGpu, TellsACallThatNobodyWaitsForAsOnTheCpu) {
  const std::string report = report_of([](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor values = r.tensor({1.0});
    const CollectiveCall call = sum_of(values);
    const Ticket ticket = tp->submit({&call, 1});
    if (r.rank.value != 0) ticket.source->wait(ticket.sequence, {}, "test.wait");
    run_call(*tp, {.label = "test.end", .kind = CollectiveKind::kBarrier});
  });
  EXPECT_NE(report.find("test.sum"), std::string::npos) << report;
}

// More ranks than a small list of pointers holds, and more copies than a small list of copies.
TEST_F(ClusterOnGpu, RunsManyRanksInEveryOrder) {
  constexpr int kRanks = 66;
  constexpr double kTotal = kRanks * (kRanks - 1) / 2.0;
  for (const ReductionOrder order : {ReductionOrder::kRank,
                                     ReductionOrder::kRing,
                                     ReductionOrder::kTree,
                                     ReductionOrder::kShuffled}) {
    for (const Completion completion : {Completion::kEarly, Completion::kLate}) {
      const ClusterReport report = spawn_ranks(
          kRanks,
          [kTotal](TestRank& r) {
            const auto tp = r.connect(GroupKind::kTp);
            const double mine = r.rank.value;
            const Tensor values = r.tensor(std::vector<double>(100, mine));
            const Tensor all = r.empty(kRanks * 100);
            run_call(*tp,
                     {.label = "test.gather",
                      .kind = CollectiveKind::kAllGather,
                      .input = values.buffer(),
                      .output = all.buffer()});
            run_call(*tp, sum_of(values));
            EXPECT_EQ(values_of(r.device, values), std::vector<double>(100, kTotal));
            const std::vector<double> gathered = values_of(r.device, all);
            for (std::size_t i = 0; i < gathered.size(); ++i) {
              ASSERT_EQ(gathered[i], static_cast<double>(i / 100)) << i;
            }
          },
          {.reduction_order = order, .completion = completion, .schedule_seed = 1, .gpu = &gpu_});
      EXPECT_EQ(to_text(report), "");
    }
  }
}

// In a process of its own, for after a fault no call to CUDA succeeds. The others have ended by
// then: they run before the last one.
TEST_F(ClusterOnGpu, AFaultThatShowsWhenTheProgramHasReturnedIsItsRanksError) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fault_and_tell = [&] {
    const ClusterReport report =
        spawn_ranks(3,
                    [](TestRank& r) {
                      if (r.rank.value != 2) return;
                      r.device.launch({.label = "test.fault",
                                       .body = [](const LaunchTarget& target) { fault(target); }});
                    },
                    {.gpu = &gpu_});
    const bool is_told = report.findings.size() == 1 &&
                         report.findings[0].kind == FindingKind::kRankError &&
                         report.findings[0].ranks == std::vector<Rank>{Rank{2}};
    std::fprintf(stderr, "told: %s\n", to_text(report).c_str());
    std::_Exit(is_told && gpu_.is_lost() ? 3 : 4);
  };
  EXPECT_EXIT(fault_and_tell(), testing::ExitedWithCode(3), "told: .*illegal memory access");
}

// The others are in the middle of their work, with tensors that are freed after the fault. Who
// hears of it first is not who made it.
TEST_F(ClusterOnGpu, AFaultInTheMiddleIsARanksErrorAndLeavesTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fault_and_tell = [&](RankHost host) {
    const ClusterReport report = spawn_ranks(
        3,
        [](TestRank& r) {
          const auto tp = r.connect(GroupKind::kTp);
          const Tensor values = r.tensor({1.0});
          if (r.rank.value == 1) {
            r.device.launch(
                {.label = "test.fault", .body = [](const LaunchTarget& target) { fault(target); }});
          }
          for (int i = 0; i < 50; ++i) run_call(*tp, sum_of(values));
          values_of(r.device, values);
        },
        {.host = host, .gpu = &gpu_});
    const bool is_told =
        !report.findings.empty() && report.findings[0].kind == FindingKind::kRankError;
    std::fprintf(stderr, "told: %s\n", to_text(report).c_str());
    std::_Exit(is_told && gpu_.is_lost() ? 3 : 4);
  };
  for (const RankHost host : {RankHost::kFibers, RankHost::kThreads}) {
    EXPECT_EXIT(
        fault_and_tell(host), testing::ExitedWithCode(3), "told: rank .*illegal memory access");
  }
}

}  // namespace
}  // namespace lockstep::test
