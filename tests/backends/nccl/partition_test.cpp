// How each kind of group cuts the world: what a communicator is split by.
#include <gtest/gtest.h>

#include "backends/nccl/connections.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using backends::Partition;
using backends::partition_of;

TEST(Partition, NamesEachRanksGroupByItsLowestRank) {
  const Mesh mesh(layout_of({.tp = 2, .dp = 2, .pp = 2}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kWorld), (Partition{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kTp), (Partition{0, 0, 2, 2, 4, 4, 6, 6}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kDp), (Partition{0, 1, 0, 1, 4, 5, 4, 5}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kPp), (Partition{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Partition, LeavesOutRanksThatAreAlone) {
  const Mesh mesh(layout_of({.tp = 2, .dp = 2}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kCp), (Partition{-1, -1, -1, -1}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kEmbedding), (Partition{-1, -1, -1, -1}));
}

TEST(Partition, LeavesOutRanksThatAreInNoGroupOfTheKind) {
  const Mesh mesh(layout_of({.pp = 4}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kEmbedding), (Partition{0, -1, -1, 0}));
}

TEST(Partition, IsTheSameForKindsThatCutTheWorldAlike) {
  const Mesh mesh(layout_of({.tp = 2, .dp = 2}));
  EXPECT_EQ(partition_of(mesh, GroupKind::kDp), partition_of(mesh, GroupKind::kDpCp));
  EXPECT_EQ(partition_of(mesh, GroupKind::kTpDp), partition_of(mesh, GroupKind::kWorld));
}

}  // namespace
}  // namespace lockstep::test
