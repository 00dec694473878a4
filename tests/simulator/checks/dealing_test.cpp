// A dealing is taken for what it was last, and worked out again where it is not that.
#include "simulator/checks/dealing.h"

#include <gtest/gtest.h>

namespace lockstep::test {
namespace {

// The first of `of` elements.
Shard first_of(std::int64_t count, std::int64_t of) {
  return {.name = "t",
          .full_shape = {of},
          .local_shape = {count},
          .slices = {{.dim = 0, .runs = {{.local = 0, .global = 0, .count = count}}}},
          .values = std::vector<double>(static_cast<std::size_t>(count))};
}

TEST(Dealings, AreWorkedOutAgainWhereTheShardsDifferFromTheLast) {
  sim::Dealings dealings;
  const Shard all = first_of(3, 3);
  const Shard some = first_of(2, 3);
  const RankShard whole[] = {{.rank = Rank{0}, .shard = &all}};
  const RankShard part[] = {{.rank = Rank{0}, .shard = &some}};
  EXPECT_EQ(dealings.of(2, whole).problem, "");
  EXPECT_EQ(dealings.of(2, part).problem, "no rank holds 1 of its elements, the first is 2");
  EXPECT_EQ(dealings.of(0, whole).problem, "");
  EXPECT_EQ(dealings.of(2, whole).problem, "");
}

}  // namespace
}  // namespace lockstep::test
