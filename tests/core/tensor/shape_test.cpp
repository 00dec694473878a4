// Shapes count and check what they are asked.
#include "core/tensor/shape.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"

namespace lockstep {
namespace {

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(Shape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape({2, 3, 4}).row_elements(), 12);
  EXPECT_EQ(Shape({2, 3, 4}).last(), 4);
  EXPECT_EQ(Shape({}).num_elements(), 1);
  EXPECT_EQ(Shape({0, 5}).num_elements(), 0);
}

TEST(Shape, RefusesWhatItCannotHold) {
  EXPECT_THROW(Shape({1, 2, 3, 4, 5}), InternalError);
  EXPECT_THROW(Shape({-1}), InternalError);
  EXPECT_THROW(static_cast<void>(Shape({2})[1]), InternalError);
}

TEST(Shape, WithLastReplacesTheLastDimAlone) {
  EXPECT_EQ(Shape({2, 3, 4}).with_last(5), Shape({2, 3, 5}));
  EXPECT_THROW(static_cast<void>(Shape().with_last(5)), InternalError);
}

TEST(Shape, ShowsItselfAsAList) { EXPECT_EQ(to_text(Shape({2, 3})), "[2, 3]"); }

}  // namespace
}  // namespace lockstep
