// On a machine with a GPU every backend that needs one can be run.
#include <gtest/gtest.h>

#include "tests/backends/conformance/backends.h"

namespace lockstep::test {
namespace {

TEST(ConformanceOnGpu, HasEveryBackendThatNeedsOne) {
  int num_on_gpu = 0;
  for (const TestedBackend& backend : known_backends()) {
    if (!backend.on_gpu) continue;
    ++num_on_gpu;
    EXPECT_EQ(backend.absent, "") << backend.name;
  }
  EXPECT_GT(num_on_gpu, 0);
}

}  // namespace
}  // namespace lockstep::test
