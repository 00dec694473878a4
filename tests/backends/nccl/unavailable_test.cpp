// A build without NCCL links, and says what is missing.
#include <gtest/gtest.h>

#include "backends/nccl/transport.h"

namespace lockstep::test {
namespace {

TEST(NoNccl, SaysWhatIsMissing) {
  EXPECT_NE(backends::why_no_nccl(1).find("this build has no NCCL"), std::string::npos);
  EXPECT_EQ(backends::nccl_version(), "not in this build");
  EXPECT_EQ(backends::let_ranks_share_gpus(), "");
}

TEST(NoNccl, SupportsNothing) {
  const Support support = backends::nccl_support({.kind = CollectiveKind::kBroadcast});
  EXPECT_EQ(support.kind, SupportKind::kNone);
  EXPECT_FALSE(support.how.empty());
}

}  // namespace
}  // namespace lockstep::test
