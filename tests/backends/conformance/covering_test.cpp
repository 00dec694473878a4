// Thinned combinations hold every pair that all combinations hold, in far fewer.
#include "tests/backends/conformance/covering.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace lockstep::test {
namespace {

using Pairs = std::set<std::tuple<std::size_t, int, std::size_t, int>>;

Pairs pairs_of(const std::vector<Combination>& combinations) {
  Pairs pairs;
  for (const Combination& combination : combinations) {
    for (std::size_t i = 0; i < combination.size(); ++i) {
      for (std::size_t j = i + 1; j < combination.size(); ++j) {
        pairs.insert({i, combination[i], j, combination[j]});
      }
    }
  }
  return pairs;
}

TEST(Covering, AllCombinationsAreTheProductOfAllValues) {
  EXPECT_EQ(
      all_combinations({2, 1, 3}),
      (std::vector<Combination>{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {1, 0, 0}, {1, 0, 1}, {1, 0, 2}}));
}

TEST(Covering, PairwiseCombinationsHoldEachPairInFewCombinations) {
  const std::vector<int> num_values{4, 2, 6, 5, 5, 2};
  const std::vector<Combination> all = all_combinations(num_values);
  const std::vector<Combination> thinned = pairwise_combinations(num_values);
  EXPECT_EQ(pairs_of(thinned), pairs_of(all));
  EXPECT_EQ(all.size(), 2400U);
  EXPECT_LE(thinned.size(), 45U);  // 30 are the least: the pairs of the two largest factors
}

}  // namespace
}  // namespace lockstep::test
