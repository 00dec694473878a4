// The mesh against the worked examples A to G of Megatron's rank generator.
#include "core/comm/mesh.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/config/case.h"

namespace lockstep {
namespace {

struct Sizes {
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t ep = 1;
  std::int64_t etp = 1;
};

Layout layout_of(const Sizes& sizes) {
  Layout layout = default_case().layout;
  layout.tp = sizes.tp;
  layout.cp = sizes.cp;
  layout.pp = sizes.pp;
  layout.dp = sizes.dp;
  layout.ep = sizes.ep;
  layout.etp = sizes.etp;
  return layout;
}

// "[0 1][2 3]"
std::string lists(const Mesh& mesh, GroupKind kind) {
  std::string text;
  for (const Group& group : mesh.groups(kind)) {
    std::string ranks;
    for (const Rank rank : group.ranks)
      ranks += (ranks.empty() ? "" : " ") + std::to_string(rank.value);
    text += "[" + ranks + "]";
  }
  return text;
}

TEST(Mesh, ExampleATensorContextAndPipelineParallel) {
  const Mesh mesh(layout_of({.tp = 2, .cp = 2, .pp = 2, .etp = 2}));
  EXPECT_EQ(lists(mesh, GroupKind::kTp), "[0 1][2 3][4 5][6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kCp), "[0 2][1 3][4 6][5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDp), "[0][1][2][3][4][5][6][7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDpCp), lists(mesh, GroupKind::kCp));
  EXPECT_EQ(lists(mesh, GroupKind::kPp), "[0 4][1 5][2 6][3 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpCp), "[0 1 2 3][4 5 6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpDpCp), "[0 1 2 3][4 5 6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kModel), "[0 1 4 5][2 3 6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEmbedding), lists(mesh, GroupKind::kPp));
  EXPECT_EQ(lists(mesh, GroupKind::kPositionEmbedding), "[0][1][2][3]");
  EXPECT_EQ(lists(mesh, GroupKind::kEdp), "[0 2][1 3][4 6][5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpEp), "[0 1][2 3][4 5][6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpEpPp), "[0 1 4 5][2 3 6 7]");
}

TEST(Mesh, ExampleBExpertsWithoutTensorParallelCoincideWithTp) {
  const Mesh mesh(layout_of({.tp = 2, .dp = 4, .ep = 2}));
  EXPECT_EQ(lists(mesh, GroupKind::kTp), "[0 1][2 3][4 5][6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDp), "[0 2 4 6][1 3 5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDpCp), "[0 2 4 6][1 3 5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEp), "[0 1][2 3][4 5][6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEtp), "[0][1][2][3][4][5][6][7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEdp), "[0 2 4 6][1 3 5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpEp), lists(mesh, GroupKind::kEp));
  EXPECT_EQ(lists(mesh, GroupKind::kModel), lists(mesh, GroupKind::kTp));
  EXPECT_EQ(lists(mesh, GroupKind::kTpDpCp), lists(mesh, GroupKind::kWorld));
}

TEST(Mesh, ExampleCExpertTensorParallel) {
  const Mesh mesh(layout_of({.tp = 2, .dp = 4, .ep = 2, .etp = 2}));
  EXPECT_EQ(lists(mesh, GroupKind::kEp), "[0 2][1 3][4 6][5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEtp), lists(mesh, GroupKind::kTp));
  EXPECT_EQ(lists(mesh, GroupKind::kEdp), "[0 4][1 5][2 6][3 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpEp), "[0 1 2 3][4 5 6 7]");
}

TEST(Mesh, ExampleDExpertsAcrossTensorAndContextRanks) {
  const Mesh mesh(layout_of({.tp = 2, .cp = 2, .dp = 2, .ep = 4}));
  EXPECT_EQ(lists(mesh, GroupKind::kCp), "[0 2][1 3][4 6][5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDp), "[0 4][1 5][2 6][3 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDpCp), "[0 2 4 6][1 3 5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEp), "[0 1 2 3][4 5 6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEdp), "[0 4][1 5][2 6][3 7]");
}

TEST(Mesh, ExampleEContextPipelineAndExperts) {
  const Mesh mesh(layout_of({.cp = 2, .pp = 2, .dp = 2, .ep = 2}));
  EXPECT_EQ(lists(mesh, GroupKind::kCp), "[0 1][2 3][4 5][6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDp), "[0 2][1 3][4 6][5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDpCp), "[0 1 2 3][4 5 6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kPp), "[0 4][1 5][2 6][3 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEp), "[0 1][2 3][4 5][6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kEdp), "[0 2][1 3][4 6][5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpEpPp), "[0 1 4 5][2 3 6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kModel), lists(mesh, GroupKind::kPp));
}

TEST(Mesh, ExampleFSixteenRanks) {
  const Mesh mesh(layout_of({.tp = 2, .pp = 2, .dp = 4, .ep = 4}));
  EXPECT_EQ(lists(mesh, GroupKind::kDp), "[0 2 4 6][1 3 5 7][8 10 12 14][9 11 13 15]");
  EXPECT_EQ(lists(mesh, GroupKind::kPp), "[0 8][1 9][2 10][3 11][4 12][5 13][6 14][7 15]");
  EXPECT_EQ(lists(mesh, GroupKind::kEp), "[0 1 2 3][4 5 6 7][8 9 10 11][12 13 14 15]");
  EXPECT_EQ(lists(mesh, GroupKind::kEdp), "[0 4][1 5][2 6][3 7][8 12][9 13][10 14][11 15]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpEpPp), "[0 1 2 3 8 9 10 11][4 5 6 7 12 13 14 15]");
  EXPECT_EQ(lists(mesh, GroupKind::kModel), "[0 1 8 9][2 3 10 11][4 5 12 13][6 7 14 15]");
}

TEST(Mesh, ExampleGPipelineBeforeData) {
  const Mesh mesh(layout_of({.tp = 2, .pp = 2, .dp = 2, .etp = 2}), "tp-cp-ep-pp-dp");
  EXPECT_EQ(lists(mesh, GroupKind::kPp), "[0 2][1 3][4 6][5 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kDp), "[0 4][1 5][2 6][3 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kModel), "[0 1 2 3][4 5 6 7]");
  EXPECT_EQ(lists(mesh, GroupKind::kTpDpCp), "[0 1 4 5][2 3 6 7]");
}

TEST(Mesh, PipelineBeforeDataNeedsEqualPipelinesInBothFactorisations) {
  EXPECT_THROW(Mesh(layout_of({.tp = 2, .pp = 2, .dp = 4, .ep = 4}), "tp-cp-ep-pp-dp"), UsageError);
}

TEST(Mesh, AnOrderThatLacksALargeAxisIsRefused) {
  EXPECT_THROW(Mesh(layout_of({.tp = 2, .dp = 2}), "tp-cp-ep-pp"), UsageError);
  EXPECT_NO_THROW(Mesh(layout_of({.tp = 2, .etp = 2}), "tp-dp-pp"));
}

TEST(Mesh, EachKindCoversEachRankOnce) {
  const Mesh mesh(layout_of({.tp = 2, .cp = 3, .dp = 2, .ep = 2, .etp = 3}));
  for (const GroupKind kind :
       {GroupKind::kTp, GroupKind::kCp, GroupKind::kDpCp, GroupKind::kEp, GroupKind::kEdp}) {
    std::set<int> seen;
    for (const Group& group : mesh.groups(kind)) {
      for (const Rank rank : group.ranks) EXPECT_TRUE(seen.insert(rank.value).second);
    }
    EXPECT_EQ(static_cast<int>(seen.size()), mesh.world()) << name_of(kind);
  }
}

TEST(Mesh, HierarchicalContextGroupsAreRunsOfACpGroupAndWhatLiesAcrossThem) {
  Layout layout = layout_of({.tp = 2, .cp = 4, .dp = 2});
  layout.etp = 2;
  layout.cp_comm = CpComm::kAllToAllP2p;
  layout.cp_inner = 2;
  const Mesh mesh(layout);
  EXPECT_EQ(lists(mesh, GroupKind::kCp), "[0 2 4 6][1 3 5 7][8 10 12 14][9 11 13 15]");
  EXPECT_EQ(lists(mesh, GroupKind::kCpInner), "[0 2][4 6][1 3][5 7][8 10][12 14][9 11][13 15]");
  EXPECT_EQ(lists(mesh, GroupKind::kCpOuter), "[0 4][2 6][1 5][3 7][8 12][10 14][9 13][11 15]");
  EXPECT_EQ(mesh.group_of(GroupKind::kCpOuter, {13})->rank_of({13}), GroupRank{1});
}

TEST(Mesh, InnerGroupsAndRingsMayDifferInSize) {
  Layout layout = layout_of({.cp = 6});
  layout.cp_comm = CpComm::kAllToAllP2p;
  layout.cp_inner = 3;
  EXPECT_EQ(lists(Mesh(layout), GroupKind::kCpInner), "[0 1 2][3 4 5]");
  EXPECT_EQ(lists(Mesh(layout), GroupKind::kCpOuter), "[0 3][1 4][2 5]");
}

TEST(Mesh, WhereCpIsNotSplitEachRankIsAloneInItsInnerAndOuterGroup) {
  for (const CpComm comm : {CpComm::kP2p, CpComm::kAllGather, CpComm::kAllToAll}) {
    Layout layout = layout_of({.cp = 4});
    layout.cp_comm = comm;
    layout.cp_inner = 2;
    for (const GroupKind kind : {GroupKind::kCpInner, GroupKind::kCpOuter}) {
      EXPECT_EQ(lists(Mesh(layout), kind), "[0][1][2][3]") << name_of(kind);
    }
  }
}

TEST(Mesh, AMiddleStageIsInNoEmbeddingGroup) {
  const Mesh mesh(layout_of({.pp = 3}));
  EXPECT_EQ(mesh.group_of(GroupKind::kEmbedding, {1}), nullptr);
  EXPECT_EQ(mesh.group_of(GroupKind::kEmbedding, {2})->ranks, (std::vector<Rank>{{0}, {2}}));
}

TEST(Mesh, DescribesARankByItsDenseAxes) {
  const Mesh mesh(layout_of({.tp = 2, .dp = 3}));
  EXPECT_EQ(mesh.describe({3}), "tp 1, dp 1");
  EXPECT_EQ(mesh.coordinate({5}, Axis::kDp), 2);
  EXPECT_EQ(mesh.coordinate({5}, Axis::kEtp), 0);
  EXPECT_EQ(Mesh(layout_of({})).describe({0}), "alone");
}

TEST(Mesh, ACoordinateIsThePlaceInTheGroupOfThatAxis) {
  const Mesh mesh(layout_of({.tp = 2, .cp = 3, .pp = 2, .dp = 2, .ep = 2, .etp = 3}));
  const std::vector<std::pair<Axis, GroupKind>> axes = {{Axis::kTp, GroupKind::kTp},
                                                        {Axis::kCp, GroupKind::kCp},
                                                        {Axis::kDp, GroupKind::kDp},
                                                        {Axis::kPp, GroupKind::kPp},
                                                        {Axis::kEtp, GroupKind::kEtp},
                                                        {Axis::kEp, GroupKind::kEp},
                                                        {Axis::kEdp, GroupKind::kEdp}};
  for (const auto& [axis, kind] : axes) {
    for (int rank = 0; rank < mesh.world(); ++rank) {
      const std::optional<GroupRank> place = mesh.group_of(kind, {rank})->rank_of({rank});
      EXPECT_EQ(GroupRank{mesh.coordinate({rank}, axis)}, place) << name_of(axis) << " " << rank;
    }
  }
}

}  // namespace
}  // namespace lockstep
