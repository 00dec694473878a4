// Dealing keeps cases of one reference together, and deals each exactly once.
#include "matrix/sweep/dealer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lockstep::test {
namespace {

using matrix::Dealer;
using matrix::DealtCase;

TEST(Dealer, GivesEachWorkerAGroupOfItsOwnInOrder) {
  Dealer dealer({{0, "a"}, {1, "b"}, {2, "a"}, {3, "b"}}, 2);
  EXPECT_EQ(dealer.next(0), 0U);
  EXPECT_EQ(dealer.next(1), 1U);
  EXPECT_EQ(dealer.next(1), 3U);
  EXPECT_EQ(dealer.next(0), 2U);
  EXPECT_EQ(dealer.next(0), std::nullopt);
  EXPECT_EQ(dealer.next(1), std::nullopt);
}

TEST(Dealer, TakesAnUnheldGroupBeforeItSplitsOne) {
  Dealer dealer({{0, "a"}, {1, "a"}, {2, "a"}, {3, "b"}, {4, "c"}}, 2);
  EXPECT_EQ(dealer.next(0), 0U);
  EXPECT_EQ(dealer.next(1), 3U);
  EXPECT_EQ(dealer.next(1), 4U);
  EXPECT_EQ(dealer.next(1), 2U);
}

TEST(Dealer, SplitsTheLargestGroupForAnIdleWorker) {
  Dealer dealer({{0, "a"}, {1, "a"}, {2, "a"}, {3, "a"}, {4, "a"}}, 2);
  EXPECT_EQ(dealer.next(0), 0U);
  EXPECT_EQ(dealer.next(1), 3U);
  EXPECT_EQ(dealer.next(1), 4U);
  EXPECT_EQ(dealer.next(0), 1U);
}

TEST(Dealer, DealsEveryCaseOnceWhateverTheOrderOfAsking) {
  std::vector<DealtCase> cases;
  for (std::size_t i = 0; i < 100; ++i) cases.push_back({i, std::string(1, "abc"[i % 3])});
  Dealer dealer(cases, 7);
  std::multiset<std::size_t> dealt;
  std::size_t worker = 0;
  while (const auto index = dealer.next(worker)) {
    dealt.insert(*index);
    worker = (worker * 3 + 1) % 7;
  }
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(dealer.next(i), std::nullopt);
  EXPECT_EQ(dealt.size(), 100U);
  EXPECT_EQ(std::set<std::size_t>(dealt.begin(), dealt.end()).size(), 100U);
}

}  // namespace
}  // namespace lockstep::test
