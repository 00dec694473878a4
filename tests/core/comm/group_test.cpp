// Groups know their members and show themselves.
#include "core/comm/group.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

const Group kGroup{.kind = GroupKind::kTp, .index = 1, .ranks = {{2}, {5}, {9}}};

TEST(Group, FindsAMembersPlace) {
  EXPECT_EQ(kGroup.rank_of({5}), GroupRank{1});
  EXPECT_EQ(kGroup.rank_of({9}), GroupRank{2});
}

TEST(Group, AStrangerHasNoPlace) {
  EXPECT_EQ(kGroup.rank_of({4}), std::nullopt);
  EXPECT_EQ(kGroup.rank_of({10}), std::nullopt);
}

TEST(Group, ShowsKindIndexAndRanks) { EXPECT_EQ(to_text(kGroup), "tp#1 {2, 5, 9}"); }

TEST(Group, ALargeOneIsCutShort) {
  Group group{.kind = GroupKind::kDpCp, .index = 0, .ranks = {}};
  for (int rank = 0; rank < 40; ++rank) group.ranks.push_back({rank});
  EXPECT_TRUE(to_text(group).ends_with("14, 15, ...}"));
}

}  // namespace
}  // namespace lockstep
