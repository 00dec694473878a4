// Ranks of the world and of a group are ordered, and cannot be taken for one another.
#include "core/base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace lockstep {
namespace {

TEST(Ids, AreOrderedByValue) {
  EXPECT_LT(Rank{1}, Rank{2});
  EXPECT_EQ(GroupRank{3}, GroupRank{3});
}

TEST(Ids, OfWorldAndGroupDoNotConvert) {
  EXPECT_FALSE((std::is_convertible_v<Rank, GroupRank>));
  EXPECT_FALSE((std::is_convertible_v<GroupRank, Rank>));
  EXPECT_FALSE((std::is_convertible_v<int, Rank>));
}

}  // namespace
}  // namespace lockstep
