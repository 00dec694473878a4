// Slices of cut tensors: equal parts, and padding that belongs to no element.
#include "core/parallel/placement.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep {
namespace {

TEST(Placement, PartsOfAPaddedDimCoverItOnce) {
  const Cut cut{.dim = 0, .axis = Axis::kTp, .num_parts = 8, .part_size = 16};  // 128 for 90
  std::int64_t next = 0;
  for (std::int64_t part = 0; part < 8; ++part) {
    for (const ShardRun& run : slice_of(cut, 90, part).runs) {
      EXPECT_EQ(run.local, 0);
      EXPECT_EQ(run.global, next);
      next += run.count;
    }
  }
  EXPECT_EQ(next, 90);
}

TEST(Placement, ARankOfNothingButPaddingHoldsNoRun) {
  const Cut cut{.dim = 0, .axis = Axis::kTp, .num_parts = 8, .part_size = 16};
  EXPECT_EQ(slice_of(cut, 90, 5).runs, (std::vector<ShardRun>{{.global = 80, .count = 10}}));
  EXPECT_TRUE(slice_of(cut, 90, 6).runs.empty());
}

TEST(Placement, APartOfGateAndUpIsAPartOfEach) {
  // [gate 12 | up 12] over 4 ranks of 3 rows each.
  const Cut cut{.dim = 0, .axis = Axis::kTp, .num_parts = 4, .part_size = 3, .num_blocks = 2};
  EXPECT_EQ(slice_of(cut, 24, 2).runs,
            (std::vector<ShardRun>{{.local = 0, .global = 6, .count = 3},
                                   {.local = 3, .global = 18, .count = 3}}));
  const ParameterSpec spec{.name = "w", .full_shape = {24, 5}, .cut = cut};
  EXPECT_EQ(local_shape(spec), (std::vector<std::int64_t>{6, 5}));
  EXPECT_EQ(to_text(cut), "dim 0 over tp in 4 of 3, in each of 2 blocks");
}

// The first and the last quarter of eight rows, and one of padding between; under sequence
// parallelism the second half of those.
ActivationRowRuns some_rows() {
  return {.all = {{.local = 0, .global = 0, .count = 2}, {.local = 3, .global = 6, .count = 2}},
          .own = {{.local = 0, .global = 7, .count = 1}},
          .num_all = 6,
          .num_own = 3};
}

TEST(Placement, AnActivationHasTheRowsOfItsMicroBatch) {
  const Mesh mesh(test::layout_of({.tp = 2}));
  ActivationSpec spec{.name = "a", .full_shape = {8, 6}, .rows = ActivationRows::kWithinRegion};
  Shard shard = shard_of(spec, some_rows(), mesh, {1});
  EXPECT_EQ(shard.local_shape, (std::vector<std::int64_t>{6, 6}));
  EXPECT_EQ(shard.slices, (std::vector<ShardSlice>{{.dim = 0, .runs = some_rows().all}}));
  spec.rows = ActivationRows::kResidual;
  shard = shard_of(spec, some_rows(), mesh, {1});
  EXPECT_EQ(shard.local_shape, (std::vector<std::int64_t>{3, 6}));
  EXPECT_EQ(shard.slices, (std::vector<ShardSlice>{{.dim = 0, .runs = some_rows().own}}));
}

TEST(Placement, AnActivationMayBeCutByRowsAndByColumns) {
  const Mesh mesh(test::layout_of({.tp = 2}));
  const ActivationSpec spec{
      .name = "a",
      .full_shape = {8, 6},
      .rows = ActivationRows::kWithinRegion,
      .columns = Cut{.dim = 1, .axis = Axis::kTp, .num_parts = 2, .part_size = 4}};
  const Shard shard = shard_of(spec, some_rows(), mesh, {1});
  EXPECT_EQ(shard.local_shape, (std::vector<std::int64_t>{6, 4}));
  ASSERT_EQ(shard.slices.size(), 2U);
  EXPECT_EQ(shard.slices[0].runs, some_rows().all);
  EXPECT_EQ(shard.slices[1], (ShardSlice{.dim = 1, .runs = {{.global = 4, .count = 2}}}));
}

TEST(Placement, ColumnsOfAnActivationAreNoOtherDim) {
  const Mesh mesh(test::layout_of({.tp = 2}));
  const ActivationSpec spec{
      .name = "a",
      .full_shape = {8, 6},
      .columns = Cut{.dim = 0, .axis = Axis::kTp, .num_parts = 2, .part_size = 4}};
  EXPECT_THROW(shard_of(spec, some_rows(), mesh, {1}), InternalError);
}

TEST(Placement, AWholeParameterHasNoSlice) {
  const Mesh mesh(test::layout_of({.tp = 2}));
  ParameterSpec spec{.name = "w", .full_shape = {4, 6}};
  EXPECT_TRUE(shard_of(spec, mesh, {1}).slices.empty());
  spec.cut = Cut{.dim = 1, .axis = Axis::kTp, .num_parts = 2, .part_size = 3};
  EXPECT_EQ(shard_of(spec, mesh, {1}).slices,
            (std::vector<ShardSlice>{{.dim = 1, .runs = {{.local = 0, .global = 3, .count = 3}}}}));
}

TEST(Placement, ACutTensorFollowsItsAxisAndAWholeOneDoesNot) {
  const Mesh mesh(test::layout_of({.tp = 2, .dp = 2}));
  ParameterSpec spec{.name = "w", .full_shape = {4, 6}};
  EXPECT_EQ(slice_of(spec, mesh, {3}).runs, (std::vector<ShardRun>{{.count = 4}}));
  EXPECT_EQ(local_shape(spec), (std::vector<std::int64_t>{4, 6}));
  spec.cut = Cut{.dim = 1, .axis = Axis::kTp, .num_parts = 2, .part_size = 3};
  EXPECT_EQ(slice_of(spec, mesh, {3}).runs, (std::vector<ShardRun>{{.global = 3, .count = 3}}));
  EXPECT_EQ(slice_of(spec, mesh, {2}).runs, (std::vector<ShardRun>{{.global = 0, .count = 3}}));
  EXPECT_EQ(local_shape(spec), (std::vector<std::int64_t>{4, 3}));
}

}  // namespace
}  // namespace lockstep
