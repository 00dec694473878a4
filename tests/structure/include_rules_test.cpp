// Plants includes that go against the arrows or see what they may not.
#include "tests/structure/include_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::test {
namespace {

SourceFile file(const std::string& path, const std::string& text) {
  return {.path = path, .text = text};
}

Findings arrows_of(const std::string& path, const std::string& target) {
  return check_arrows({file(path, "// A file.\n#include \"" + target + "\"\n")});
}

TEST(Arrows, MayPointDown) {
  EXPECT_TRUE(arrows_of("core/ops/add.cpp", "core/tensor/tensor.h").empty());
  EXPECT_TRUE(arrows_of("backends/inprocess/hub.cpp", "core/comm/group.h").empty());
  EXPECT_TRUE(arrows_of("simulator/runtime/trial.cpp", "core/train/train.h").empty());
  EXPECT_TRUE(arrows_of("matrix/cli/main.cpp", "simulator/checks/checks.h").empty());
}

TEST(Arrows, MayPointIntoTheOwnFolder) {
  EXPECT_TRUE(arrows_of("core/ops/cpu/add.cpp", "core/ops/kernels.h").empty());
}

TEST(Arrows, MayNotPointUp) {
  const Findings findings = arrows_of("core/tensor/tensor.h", "core/ops/kernels.h");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0],
            "core/tensor/tensor.h:2: core/tensor may not include core/ops (core/ops/kernels.h)");
}

TEST(Arrows, NeverLeaveTheCoreForABackendOrTheSimulator) {
  EXPECT_EQ(arrows_of("core/train/train.cpp", "backends/inprocess/hub.h").size(), 1U);
  EXPECT_EQ(arrows_of("core/train/train.cpp", "simulator/defects/defect.h").size(), 1U);
}

TEST(Arrows, NeverLeadABackendToModelsOrTheSimulator) {
  EXPECT_EQ(arrows_of("backends/inprocess/hub.cpp", "core/model/model.h").size(), 1U);
  EXPECT_EQ(arrows_of("backends/inprocess/hub.cpp", "simulator/runtime/fibers.h").size(), 1U);
}

TEST(Arrows, LeadBackendsToWhatTheyShareAndNeverToOneAnother) {
  EXPECT_TRUE(arrows_of("backends/inprocess/hub.cpp", "backends/matching/books.h").empty());
  EXPECT_TRUE(arrows_of("backends/gloo/hub.cpp", "backends/coordinator/client.h").empty());
  EXPECT_EQ(arrows_of("backends/gloo/hub.cpp", "backends/inprocess/hub.h").size(), 1U);
  EXPECT_EQ(arrows_of("backends/inprocess/hub.cpp", "backends/coordinator/client.h").size(), 1U);
  EXPECT_EQ(arrows_of("backends/coordinator/hub.cpp", "backends/gloo/hub.h").size(), 1U);
  EXPECT_EQ(arrows_of("backends/matching/books.cpp", "backends/inprocess/hub.h").size(), 1U);
  EXPECT_TRUE(arrows_of("backends/nccl/hub.cpp", "backends/cuda/moves.h").empty());
  EXPECT_EQ(arrows_of("backends/cuda/moves.cu", "backends/nccl/hub.h").size(), 1U);
}

TEST(Arrows, NeverLeadTheReferenceToTheCoresArithmetic) {
  EXPECT_EQ(arrows_of("matrix/reference/mlp.cpp", "core/ops/kernels.h").size(), 1U);
  EXPECT_EQ(arrows_of("matrix/reference/mlp.cpp", "core/train/optimizer.h").size(), 1U);
}

TEST(Arrows, NeedARowForANewFolder) {
  const Findings findings = arrows_of("core/novel/a.cpp", "core/base/ids.h");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].find("core/novel is in no row"), std::string::npos);
}

TEST(Arrows, AreFreeInTests) {
  EXPECT_TRUE(arrows_of("tests/core/ops/add_test.cpp", "matrix/reference/reference.h").empty());
}

TEST(Arrows, IgnoreIncludesInComments) {
  EXPECT_TRUE(check_arrows({file("core/base/a.h", "// A.\n// #include \"matrix/a.h\"\n")}).empty());
}

Findings dependencies_of(const std::string& path, const std::string& header) {
  return check_dependencies({file(path, "// A file.\n#include <" + header + ">\n")});
}

TEST(Dependencies, AreSeenFromTheirOwnFolder) {
  EXPECT_TRUE(dependencies_of("core/ops/cpu/matmul.cpp", "Eigen/Core").empty());
  EXPECT_TRUE(dependencies_of("matrix/spec/yaml.cpp", "yaml-cpp/yaml.h").empty());
}

TEST(Dependencies, AreNotSeenFromOtherFolders) {
  const Findings findings = dependencies_of("core/train/train.cpp", "Eigen/Core");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/train/train.cpp:2: <Eigen/Core> may not be seen from here");
}

TEST(Dependencies, AreNotSeenByHeaders) {
  EXPECT_EQ(dependencies_of("matrix/sweep/result.h", "nlohmann/json.hpp").size(), 1U);
  EXPECT_EQ(dependencies_of("core/tensor/cuda/gpu.h", "cuda_runtime_api.h").size(), 1U);
}

TEST(Dependencies, OfKernelsAreSeenByWhatOnlyKernelsInclude) {
  EXPECT_TRUE(dependencies_of("backends/cuda/launch.cuh", "cuda_runtime_api.h").empty());
  EXPECT_EQ(dependencies_of("backends/gloo/launch.cuh", "cuda_runtime_api.h").size(), 1U);
}

TEST(Dependencies, AreKnownWithoutAFolderToo) {
  EXPECT_TRUE(dependencies_of("backends/nccl/communicator.cpp", "nccl.h").empty());
  EXPECT_EQ(dependencies_of("backends/inprocess/rendezvous.cpp", "nccl.h").size(), 1U);
  EXPECT_EQ(dependencies_of("simulator/runtime/cluster.cpp", "cuda_runtime_api.h").size(), 1U);
  EXPECT_EQ(dependencies_of("backends/cuda/moves.cu", "cublas_v2.h").size(), 1U);
  EXPECT_EQ(dependencies_of("core/tensor/cuda/gpu.cpp", "cublas_v2.h").size(), 1U);
}

TEST(Dependencies, AreSeenByOneFileWhereAgreed) {
  const std::string text = "// A file.\n#include <boost/context/fiber.hpp>\n";
  const Findings findings = check_dependencies(
      {file("simulator/runtime/a.cpp", text), file("simulator/runtime/b.cpp", text)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].find("is seen by 2 files, more than 1"), std::string::npos);
}

TEST(Dependencies, NeedARowWhenTheyAreNew) {
  const Findings findings = dependencies_of("core/base/a.cpp", "novel/thing.h");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].find("is in no row of the dependency table"), std::string::npos);
}

TEST(Dependencies, OfTestsStayInTests) {
  EXPECT_TRUE(dependencies_of("tests/core/base/a_test.cpp", "gtest/gtest.h").empty());
  EXPECT_EQ(dependencies_of("core/base/a.cpp", "gtest/gtest.h").size(), 2U);
}

TEST(Dependencies, LeaveTheStandardLibraryFree) {
  EXPECT_TRUE(dependencies_of("core/base/a.h", "vector").empty());
}

}  // namespace
}  // namespace lockstep::test
