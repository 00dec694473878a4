// Which backends this build has, and what each says it can do.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/backends/conformance/backends.h"

namespace lockstep::test {
namespace {

class ConformanceBackends : public testing::TestWithParam<TestedBackend> {};

std::string backend_name(const testing::TestParamInfo<TestedBackend>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Every,
                         ConformanceBackends,
                         testing::ValuesIn(known_backends()),
                         backend_name);

TEST_P(ConformanceBackends, IsTestedOrSkippedWithTheReason) {
  if (!GetParam().absent.empty()) GTEST_SKIP() << GetParam().absent;
}

std::string_view name_of(SupportKind kind) {
  switch (kind) {
    case SupportKind::kNative:
      return "native";
    case SupportKind::kBuilt:
      return "built from ";
    case SupportKind::kNone:
      return "none: ";
  }
  return {};
}

TEST(ConformanceTable, PrintsWhatEachBackendCanDo) {
  for (const TestedBackend& backend : present_backends()) {
    for (const Capability& row : capabilities_of(backend)) {
      const std::string what = backend.name + " " + to_text(row.type);
      std::cout << what << ": " << name_of(row.support.kind) << row.support.how << "\n";
      EXPECT_EQ(row.support.how.empty(), row.support.kind == SupportKind::kNative) << what;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
