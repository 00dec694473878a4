// A build without Gloo links, and says what is missing.
#include <gtest/gtest.h>

#include "backends/gloo/transport.h"

namespace lockstep::test {
namespace {

TEST(NoGloo, SaysWhatIsMissing) {
  EXPECT_NE(backends::why_no_gloo().find("libgloo-dev"), std::string::npos);
  EXPECT_EQ(backends::gloo_version(), "not in this build");
}

TEST(NoGloo, SupportsNothing) {
  const Support support = backends::gloo_support({.kind = CollectiveKind::kBroadcast});
  EXPECT_EQ(support.kind, SupportKind::kNone);
  EXPECT_FALSE(support.how.empty());
}

}  // namespace
}  // namespace lockstep::test
