// Orders to followers.
#include "matrix/crew/orders.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

TEST(Orders, ComeBackFromTheirText) {
  for (const OrderKind kind : {OrderKind::kStart, OrderKind::kEnd, OrderKind::kGoodbye}) {
    const Order order = order_from_text(to_text({.kind = kind, .rank = 3, .generation = 12}));
    EXPECT_EQ(order.kind, kind);
    EXPECT_EQ(order.rank, 3);
    EXPECT_EQ(order.generation, 12U);
  }
}

TEST(Orders, RefuseOtherText) {
  for (const char* text : {"",
                           "start",
                           "start 1",
                           "start 1 x",
                           "start 1 2 3",
                           "stop 1 2",
                           "start 1 -1",
                           "start 1 2 "}) {
    EXPECT_THROW(order_from_text(text), UsageError) << text;
  }
}

TEST(Orders, HaveAKeyOfTheirOwnForEveryRankAndNumber) {
  EXPECT_NE(order_key(1, 11), order_key(11, 1));
  EXPECT_NE(order_key(1, 2), ended_key(1, 2));
}

TEST(Orders, FollowersSeatsAreNoRanks) { EXPECT_LT(follower_seat(1), 0); }

}  // namespace
}  // namespace lockstep::matrix
