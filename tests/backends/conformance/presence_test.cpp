// What of the known backends is not tested here is skipped by name, with the reason.
#include <gtest/gtest.h>

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
  if (GetParam().on_gpu) GTEST_SKIP() << "conformance_gpu_test tests it";
}

}  // namespace
}  // namespace lockstep::test
