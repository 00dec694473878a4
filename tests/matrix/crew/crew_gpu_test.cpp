// Real training over NCCL on ranks that are threads of two processes sharing a GPU: it agrees with
// simulated ranks, and a rank that goes wrong is named while the next case runs.
#include <gtest/gtest.h>

#include <chrono>

#include "backends/nccl/transport.h"
#include "core/tensor/cuda/gpu.h"
#include "matrix/confirm/agreement.h"
#include "matrix/crew/nccl_work.h"
#include "tests/matrix/crew/crew_trials.h"

namespace lockstep::test {
namespace {

// Seconds; nothing happens for half of it: stalled. A process' first trial sets up CUDA and NCCL.
constexpr double kTimeout = 20.0;

matrix::GpuPlan gpus_of(const Case& c) {
  std::vector<std::string> ids;
  for (const GpuName& gpu : gpu_names()) ids.push_back(gpu.id);
  return matrix::plan_gpus(static_cast<int>(world_size(c.layout)), {ids, ids});
}

sim::TrialResult run(TwoHosts& hosts, const Case& c) {
  return hosts.crew.run(c, matrix::to_text(matrix::NcclRequest{.gpus = gpus_of(c), .c = c}));
}

void expect_sound(const sim::TrialResult& trial) {
  expect_like_simulated(trial, matrix::agreement_bound("cuda"));
}

class GpuHostsWithAFault : public testing::TestWithParam<CrewFault> {
 protected:
  void SetUp() override {
    ASSERT_EQ(why_no_cuda(), "");
    ASSERT_EQ(backends::why_no_nccl(2), "");
  }
};

TEST_P(GpuHostsWithAFault, NameTheRanksAndRunTheNextCase) {
  TwoHosts hosts(GetParam().name, "gpu", kTimeout);
  const auto start = std::chrono::steady_clock::now();
  const sim::TrialResult trial = run(hosts, small_case());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::duration<double>(kTimeout));
  expect_names(trial, GetParam());
  expect_sound(run(hosts, small_case()));
}

INSTANTIATE_TEST_SUITE_P(All,
                         GpuHostsWithAFault,
                         testing::ValuesIn(faults_of_hosts()),
                         [](const testing::TestParamInfo<CrewFault>& fault) {
                           return std::string(fault.param.name);
                         });

TEST(GpuHosts, ServeOneTrialAfterAnotherWhateverTheirWorlds) {
  ASSERT_EQ(why_no_cuda(), "");
  ASSERT_EQ(backends::why_no_nccl(2), "");
  Case larger = small_case();
  larger.layout.dp = 4;
  larger.recipe.global_batch = 8;
  TwoHosts hosts("none", "gpu", kTimeout);
  for (const Case& c : {small_case(), larger, small_case()}) expect_sound(run(hosts, c));
}

}  // namespace
}  // namespace lockstep::test
