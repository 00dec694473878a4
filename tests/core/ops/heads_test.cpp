// What prepares attention's inputs: the fused projection's order, and rotation by position.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "core/ops/attention.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::inner;
using test::relative_error;
using test::values_of;

class Heads : public testing::Test, protected test::OpFixture {};

TEST_F(Heads, AFusedRowIsGroupsOfQueriesThenKeyThenValue) {
  const Tensor qkv = reals({0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17}, {2, 8});
  const Qkv parts = split_qkv(ops(), qkv, {.groups = 2, .queries = 2, .head_dim = 1});
  EXPECT_EQ(parts.q.shape, Shape({2, 4}));
  EXPECT_EQ(values_of(parts.q), (std::vector<double>{0, 1, 4, 5, 10, 11, 14, 15}));
  EXPECT_EQ(values_of(parts.k), (std::vector<double>{2, 6, 12, 16}));
  EXPECT_EQ(values_of(parts.v), (std::vector<double>{3, 7, 13, 17}));
}

TEST_F(Heads, JoiningGivesBackWhatWasSplit) {
  const QkvGroups groups{.groups = 3, .queries = 2, .head_dim = 4};
  const Tensor qkv = random({5, 48});
  EXPECT_EQ(values_of(join_qkv(ops(), split_qkv(ops(), qkv, groups), groups)), values_of(qkv));
}

TEST_F(Heads, ARowThatIsNotItsGroupsIsRefused) {
  const QkvGroups groups{.groups = 2, .queries = 2, .head_dim = 1};
  EXPECT_THROW(split_qkv(ops(), random({2, 9}), groups), InternalError);
  const Qkv parts{.q = random({2, 4}), .k = random({2, 2}), .v = random({2, 3})};
  EXPECT_THROW(join_qkv(ops(), parts, groups), InternalError);
}

TEST_F(Heads, RopesAnglesArePositionsTimesPowersOfTheta) {
  const RopeTables tables = rope_tables(ops(), std::vector<std::int64_t>{0, 3}, 4, 100.0);
  EXPECT_EQ(tables.cos.shape, Shape({2, 2}));
  EXPECT_EQ(values_of(tables.sin)[0], 0.0);
  EXPECT_DOUBLE_EQ(values_of(tables.sin)[2], std::sin(3.0));
  EXPECT_DOUBLE_EQ(values_of(tables.sin)[3], std::sin(0.3));
  EXPECT_DOUBLE_EQ(values_of(tables.cos)[3], std::cos(0.3));
}

// Two samples, two heads of one pair each: row t has position t / 2, halves are (x1, x2).
TEST_F(Heads, RopeTurnsEveryHeadByTheAngleOfItsRowsPosition) {
  const RopeTables tables{.cos = reals({1.0, 0.0}, {2, 1}), .sin = reals({0.0, 1.0}, {2, 1})};
  const Tensor x = reals({1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, {4, 4});
  const Tensor y = rope(ops(), x, tables, 2, RopeDirection::kForward);
  EXPECT_EQ(values_of(y),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, -2, 1, -4, 3, -6, 5, -8, 7}));
}

TEST_F(Heads, RopeKeepsLengthsAndTurnsBackToWhereItWas) {
  const RopeTables tables = rope_tables(ops(), std::vector<std::int64_t>{0, 1, 2, 3}, 8, 1e4);
  const Tensor x = random({4, 16});
  const Tensor y = rope(ops(), x, tables, 1, RopeDirection::kForward);
  EXPECT_NEAR(inner(y, y), inner(x, x), 1e-13);
  EXPECT_LT(
      relative_error(values_of(rope(ops(), y, tables, 1, RopeDirection::kBack)), values_of(x)),
      1e-15);
}

TEST_F(Heads, WhatRopeCannotTurnIsRefused) {
  EXPECT_THROW(rope_tables(ops(), std::vector<std::int64_t>{0}, 3, 100.0), InternalError);
  const RopeTables tables = rope_tables(ops(), std::vector<std::int64_t>{0, 1}, 4, 100.0);
  EXPECT_THROW(rope(ops(), random({3, 4}), tables, 1, RopeDirection::kForward), InternalError);
  const Tensor single = reals(DType::kF32, std::vector<double>(8, 0.0), {2, 4});
  EXPECT_THROW(rope(ops(), single, tables, 1, RopeDirection::kForward), InternalError);
}

}  // namespace
}  // namespace lockstep
