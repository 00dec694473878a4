// Which NCCL can serve how many ranks on a GPU, and what it must find in the environment.
#include "backends/nccl/environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "backends/nccl/transport.h"

namespace lockstep::test {
namespace {

using backends::kMaxRanksPerGpu;
using backends::Variable;
using backends::why_not_so_many;

TEST(NcclVersion, IsReadFromItsNumber) {
  EXPECT_EQ(backends::nccl_version_text(23007), "2.30.7");
  EXPECT_EQ(backends::nccl_version_text(22809), "2.28.9");
}

TEST(NcclVersion, OfThisProcessIsTold) {
  const std::string version = backends::nccl_version();
  EXPECT_TRUE(version.starts_with("2.")) << version;
}

TEST(WhyNotSoManyRanks, OneRankAGpuNeedsNoNewVersion) {
  EXPECT_EQ(why_not_so_many(22803, 1), "");
  EXPECT_EQ(why_not_so_many(23007, 1), "");
}

TEST(WhyNotSoManyRanks, SharingNeedsANewOne) {
  EXPECT_EQ(why_not_so_many(23000, 2), "");
  EXPECT_EQ(why_not_so_many(23007, kMaxRanksPerGpu), "");
  const std::string why = why_not_so_many(22803, 2);
  EXPECT_TRUE(
      why.starts_with("NCCL 2.28.3 was found, and several ranks on one GPU need 2.30 or newer: "))
      << why;
}

TEST(WhyNotSoManyRanks, ThreadsNeedAVersionThatLeavesOtherGpusTensorsAlone) {
  EXPECT_EQ(why_not_so_many(22400, 1), "");
  const std::string why = why_not_so_many(22203, 1);
  EXPECT_TRUE(why.starts_with("NCCL 2.22.3 was found, and ranks that are threads need 2.24.0 or "))
      << why;
}

std::vector<Variable> planned_for(const std::map<std::string, std::string>& environment) {
  return backends::plan_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
}

TEST(NcclEnvironment, IsSetWhereNothingIsThere) {
  EXPECT_EQ(to_text(planned_for({})),
            "NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=1 NCCL_NVLS_ENABLE=0 "
            "CUDA_DEVICE_MAX_CONNECTIONS=32");
}

TEST(NcclEnvironment, KeepsWhatTheUserHasSet) {
  EXPECT_EQ(to_text(planned_for({{"NCCL_MULTI_RANK_GPU_ENABLE", "1"},
                                 {"NCCL_MAX_CTAS", "1"},
                                 {"NCCL_NVLS_ENABLE", "2"},
                                 {"CUDA_DEVICE_MAX_CONNECTIONS", "8"},
                                 {"CUDA_MODULE_LOADING", "LAZY"}})),
            "");
}

TEST(NcclEnvironment, ReplacesANumberOfChannelsWithWhichRanksWouldHangAndSaysSo) {
  const std::string text = to_text(planned_for({{"NCCL_MAX_CTAS", "4"}}));
  EXPECT_NE(text.find("NCCL_MAX_CTAS=1 (instead of 4)"), std::string::npos) << text;
}

// A smallest number of channels outweighs NCCL_MAX_CTAS.
TEST(NcclEnvironment, ReplacesWhatMakesRanksWaitForEachOtherOnlyWhereItIsSet) {
  for (const char* name : {"NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MIN_P2P_NCHANNELS"}) {
    const std::string text = to_text(planned_for({{name, "16"}}));
    EXPECT_NE(text.find(std::string(name) + "=1 (instead of 16)"), std::string::npos) << text;
    EXPECT_EQ(to_text(planned_for({{name, "1"}})).find(name), std::string::npos);
  }
  const std::string text = to_text(planned_for({{"NCCL_LAUNCH_MODE", "GROUP"}}));
  EXPECT_NE(text.find("NCCL_LAUNCH_MODE=PARALLEL (instead of GROUP)"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep::test
