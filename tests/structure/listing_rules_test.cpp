// Plants sources that no target lists, tests that no suite runs, and folders that nobody agreed on.
#include "tests/structure/listing_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::test {
namespace {

constexpr const char* kParent = "add_subdirectory(base)\n";

std::vector<SourceFile> core_with(const std::string& list, const std::string& source) {
  return {{.path = "core/CMakeLists.txt", .text = kParent},
          {.path = "core/base/CMakeLists.txt", .text = list},
          {.path = source, .text = "// A source.\n"}};
}

TEST(Listed, HoldsForASourceOfItsFolder) {
  EXPECT_TRUE(
      check_listed(core_with("lockstep_library(b\n  SOURCES a.cpp)", "core/base/a.cpp")).empty());
}

TEST(Listed, HoldsForASourceOfAFolderBelow) {
  EXPECT_TRUE(
      check_listed(core_with("lockstep_library(b SOURCES cpu/a.cpp)", "core/base/cpu/a.cpp"))
          .empty());
}

TEST(Listed, FindsASourceThatNoTargetLists) {
  const Findings findings =
      check_listed(core_with("lockstep_library(b SOURCES aa.cpp)  # a.cpp", "core/base/a.cpp"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/base/a.cpp is not listed in core/base/CMakeLists.txt");
}

TEST(Listed, FindsATestThatNoSuiteRuns) {
  const auto tests_with = [](const std::string& list) {
    return check_listed({{.path = "tests/CMakeLists.txt", .text = list},
                         {.path = "tests/a_test.cpp", .text = "// A test.\n"}});
  };
  EXPECT_TRUE(tests_with("lockstep_test(a_test SOURCES a_test.cpp)").empty());
  const Findings findings = tests_with("add_library(a_test a_test.cpp)");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "tests/a_test.cpp is in no lockstep_test(...)");
}

TEST(Listed, KeepsTestsThatNeedAGpuApart) {
  const auto problem = [](const std::string& list, const std::string& test) {
    const Findings findings = check_listed({{.path = "tests/CMakeLists.txt", .text = list},
                                            {.path = "tests/" + test, .text = "// A test.\n"}});
    return findings.empty() ? "" : findings[0];
  };
  EXPECT_EQ(problem("lockstep_gpu_test(t SOURCES a_gpu_test.cpp)", "a_gpu_test.cpp"), "");
  EXPECT_EQ(problem("lockstep_test(t SOURCES a_gpu_test.cpp)", "a_gpu_test.cpp"),
            "tests/a_gpu_test.cpp is in no lockstep_gpu_test(...)");
  EXPECT_EQ(problem("lockstep_gpu_test(t SOURCES a_test.cpp)", "a_test.cpp"),
            "tests/a_test.cpp is in no lockstep_test(...)");
}

TEST(Listed, FindsAFolderThatIsNotAdded) {
  const Findings findings = check_listed({{.path = "core/CMakeLists.txt", .text = kParent},
                                          {.path = "core/base/CMakeLists.txt", .text = ""},
                                          {.path = "core/lost/CMakeLists.txt", .text = ""}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/lost/CMakeLists.txt is not added by core/CMakeLists.txt");
}

TEST(Listed, FindsASourceBelowNoList) {
  EXPECT_EQ(check_listed({{.path = "core/base/a.cpp", .text = "// A source.\n"}}).size(), 1U);
}

TEST(Readmes, AreFoundMissing) {
  const SourceFile code = {.path = "core/base/a.cpp", .text = "// A source.\n"};
  EXPECT_TRUE(
      check_readmes({code, {.path = "core/base/README.md", .text = "# core/base\n"}}).empty());
  const Findings findings = check_readmes({code, {.path = "core/README.md", .text = "# core\n"}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/base has no README.md");
}

TEST(TopFolders, AreTheAgreedOnesAndThoseIgnored) {
  EXPECT_TRUE(check_top_folders({"core", "tests", "build"}, "/build/\n").empty());
  const Findings findings = check_top_folders({"core", "utils"}, "/build/\n");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "utils/ is no agreed top-level folder");
}

}  // namespace
}  // namespace lockstep::test
