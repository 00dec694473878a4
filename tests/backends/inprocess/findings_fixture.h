// Runs programs that go wrong, on fibers and on threads, and holds the one finding against a text.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

inline constexpr sim::RankHost kBothHosts[] = {sim::RankHost::kFibers, sim::RankHost::kThreads};

std::string host_name(const testing::TestParamInfo<sim::RankHost>& parameter);

class FindingsTest : public testing::TestWithParam<sim::RankHost> {
 protected:
  sim::ClusterReport spawn(const LayoutSizes& sizes,
                           const std::function<void(TestRank&)>& program) const;
  // Runs tp ranks that each submit one call and wait for it; `prepare` changes it first. It starts
  // as an all_reduce of 8 elements in place, labelled test.call.
  sim::ClusterReport spawn_calls(
      int tp, const std::function<void(TestRank&, CollectiveCall&)>& prepare) const;
};

// One finding, of that kind, whose message holds `text`.
void expect_only(const sim::ClusterReport& report,
                 backends::FindingKind kind,
                 const std::string& text);

}  // namespace lockstep::test
