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

TEST(WhyNotSoManyRanks, NoVersionServesMoreThanTheLimit) {
  const std::string why = why_not_so_many(23007, kMaxRanksPerGpu + 1);
  EXPECT_EQ(why, "17 ranks on one GPU are more than the 16 that can share one: use more GPUs");
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

}  // namespace
}  // namespace lockstep::test
