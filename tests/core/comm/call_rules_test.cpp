// How a call's buffers fall into the parts of ranks.
#include "core/comm/call_rules.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

TEST(Parts, AreEqualWithoutSplits) {
  const Buffer buffer{.count = 12};
  EXPECT_EQ(part_count(buffer, {}, {.index = 2, .of = 3}), 4);
  EXPECT_EQ(part_offset(buffer, {}, {.index = 2, .of = 3}), 8);
}

TEST(Parts, FollowOneAnotherInTheSizesOfTheirSplits) {
  const Buffer buffer{.count = 5};
  const std::vector<std::int64_t> splits{3, 0, 2};
  EXPECT_EQ(part_count(buffer, splits, {.index = 1, .of = 3}), 0);
  EXPECT_EQ(part_offset(buffer, splits, {.index = 0, .of = 3}), 0);
  EXPECT_EQ(part_offset(buffer, splits, {.index = 2, .of = 3}), 3);
}

TEST(Parts, OfManyRanksAreShownInPart) {
  EXPECT_EQ(splits_to_text(std::vector<std::int64_t>{3, 0, 2}), "[3, 0, 2]");
  EXPECT_TRUE(splits_to_text(std::vector<std::int64_t>(40, 1)).ends_with("1, ...]"));
}

TEST(CallRules, ACallThatCanBeMadeHasNothingWrong) {
  EXPECT_EQ(why_wrong({.kind = CollectiveKind::kBarrier}, {0}, 2), std::nullopt);
}

TEST(CallRules, APeerOutsideTheGroupIsNamed) {
  EXPECT_EQ(why_wrong({.kind = CollectiveKind::kSend, .peer = {2}}, {0}, 2),
            "peer 2 is not within the group of 2");
}

}  // namespace
}  // namespace lockstep
