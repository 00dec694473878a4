// A dealing says who holds what, covers each element once, and is only taken for what it is.
#include "core/snapshot/dealing.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace lockstep::test {
namespace {

// Rows [first, first + count) of four rows of three, counting up from the full index.
Shard rows(std::int64_t first, std::int64_t count) {
  Shard shard{.name = "t",
              .full_shape = {4, 3},
              .local_shape = {count, 3},
              .slices = {{.dim = 0, .runs = {{.local = 0, .global = first, .count = count}}}},
              .values = std::vector<double>(static_cast<std::size_t>(3 * count))};
  std::iota(shard.values.begin(), shard.values.end(), static_cast<double>(3 * first));
  return shard;
}

std::vector<RankShard> held(const std::vector<Shard>& shards) {
  std::vector<RankShard> result;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    result.push_back({.rank = Rank{static_cast<int>(i)}, .shard = &shards[i]});
  }
  return result;
}

TEST(Dealing, CoversEachElementOnceByItsFirstHolder) {
  const std::vector<Shard> shards = {rows(0, 2), rows(1, 3), rows(0, 2)};
  const Dealing dealing = deal(held(shards));
  EXPECT_EQ(dealing.problem, "");
  ASSERT_EQ(dealing.cover.size(), 2U);
  EXPECT_EQ(dealing.cover[0].part, 0U);
  EXPECT_EQ(dealing.cover[0].stretch.count, 6);
  EXPECT_EQ(dealing.cover[1].part, 1U);
  EXPECT_EQ(dealing.cover[1].stretch.full, 6);
  EXPECT_EQ(dealing.cover[1].stretch.local, 3);
  EXPECT_TRUE(dealing.parts[0].supplies_all);
  EXPECT_FALSE(dealing.parts[1].supplies_all);
  EXPECT_FALSE(dealing.parts[2].supplies_all);
  EXPECT_EQ(dealing.parts[2].first_alike, 0U);
  std::vector<double> values;
  gather(dealing, held(shards), values);
  std::vector<double> expected(12);
  std::iota(expected.begin(), expected.end(), 0.0);
  EXPECT_EQ(values, expected);
}

TEST(Dealing, TellsElementsThatNobodyHolds) {
  const std::vector<Shard> shards = {rows(0, 1), rows(2, 2)};
  EXPECT_EQ(deal(held(shards)).problem, "no rank holds 3 of its elements, the first is 3");
  EXPECT_EQ(deal({}).problem, "no rank holds it");
}

TEST(Dealing, GathersWhatIsHeldAndLeavesTheRestAsItWas) {
  const std::vector<Shard> shards = {rows(1, 1), rows(3, 1)};
  std::vector<double> values(9, -1.0);
  gather(deal(held(shards)), held(shards), values);
  EXPECT_EQ(values, (std::vector<double>{-1, -1, -1, 3, 4, 5, -1, -1, -1, 9, 10, 11}));
}

TEST(Dealing, TellsShardsWhoseShapesDoNotFit) {
  std::vector<Shard> shards = {rows(0, 2), rows(2, 2)};
  shards[1].values.pop_back();
  const Dealing dealing = deal(held(shards));
  EXPECT_EQ(dealing.problem, "rank 1: the number of values is not that of the local shape");
  EXPECT_TRUE(dealing.parts.empty());
  shards = {rows(0, 2), rows(2, 2)};
  shards[1].full_shape = {5, 3};
  EXPECT_EQ(deal(held(shards)).problem, "rank 1 has another full shape than rank 0");
}

TEST(Dealing, FitsShardsOfTheSameFramesWhateverTheirValues) {
  std::vector<Shard> shards = {rows(0, 2), rows(2, 2)};
  const Dealing dealing = deal(held(shards));
  shards[0].values[0] = 9.0;
  EXPECT_TRUE(fits(dealing, held(shards)));
  shards[0].values.push_back(0.0);
  EXPECT_FALSE(fits(dealing, held(shards)));
  shards = {rows(0, 2), rows(1, 2)};
  EXPECT_FALSE(fits(dealing, held(shards)));
  shards = {rows(0, 2)};
  EXPECT_FALSE(fits(dealing, held(shards)));
}

TEST(Dealing, FitsNoOtherRanks) {
  const std::vector<Shard> shards = {rows(0, 2), rows(2, 2)};
  const Dealing dealing = deal(held(shards));
  std::vector<RankShard> others = held(shards);
  others[1].rank = Rank{3};
  EXPECT_FALSE(fits(dealing, others));
}

TEST(Dealing, AreSameBitsLeavesPaddingOut) {
  Shard padded = rows(0, 2);
  padded.local_shape[0] = 3;
  padded.values.resize(9, std::numeric_limits<double>::quiet_NaN());
  Shard other = padded;
  other.values[8] = 5.0;
  const std::vector<Shard> shards = {padded, rows(2, 2)};
  const Dealing dealing = deal(held(shards));
  EXPECT_TRUE(are_same_bits(dealing.parts[0], padded, other));
  other.values[5] = -other.values[5];
  EXPECT_FALSE(are_same_bits(dealing.parts[0], padded, other));
}

}  // namespace
}  // namespace lockstep::test
