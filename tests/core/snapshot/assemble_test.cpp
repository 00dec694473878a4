// Shards cut by hand are put together again; holes and misfits are told.
#include "core/snapshot/assemble.h"

#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/snapshot/stretches.h"

namespace lockstep::test {
namespace {

Shard whole(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Shard{.name = "t",
               .full_shape = {count},
               .local_shape = {count},
               .slices = {{.dim = 0, .runs = {{.local = 0, .global = 0, .count = count}}}},
               .values = std::move(values)};
}

// Columns [first, first + 2) of a [2, 4] tensor.
Shard columns(std::int64_t first, std::vector<double> values) {
  return Shard{.name = "t",
               .full_shape = {2, 4},
               .local_shape = {2, 2},
               .slices = {{.dim = 1, .runs = {{.local = 0, .global = first, .count = 2}}}},
               .values = std::move(values)};
}

std::vector<RankShard> held(const std::vector<Shard>& shards) {
  std::vector<RankShard> result;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    result.push_back({.rank = Rank{static_cast<int>(i)}, .shard = &shards[i]});
  }
  return result;
}

TEST(Assemble, PutsColumnsBackInPlace) {
  const std::vector<Shard> shards = {columns(2, {3, 4, 7, 8}), columns(0, {1, 2, 5, 6})};
  const Assembly assembly = assemble(held(shards));
  EXPECT_EQ(assembly.problem, "");
  EXPECT_EQ(assembly.values, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Assemble, LeavesPaddedRowsOut) {
  const Shard first{.name = "t",
                    .full_shape = {3},
                    .local_shape = {2},
                    .slices = {{.dim = 0, .runs = {{.local = 0, .global = 0, .count = 2}}}},
                    .values = {1, 2}};
  const Shard second{.name = "t",
                     .full_shape = {3},
                     .local_shape = {2},
                     .slices = {{.dim = 0, .runs = {{.local = 0, .global = 2, .count = 1}}}},
                     .values = {3, 99}};
  const Shard nothing{.name = "t",
                      .full_shape = {3},
                      .local_shape = {2},
                      .slices = {{.dim = 0, .runs = {}}},
                      .values = {99, 99}};
  const std::vector<Shard> shards = {first, second, nothing};
  const Assembly assembly = assemble(held(shards));
  EXPECT_EQ(assembly.problem, "");
  EXPECT_EQ(assembly.values, (std::vector<double>{1, 2, 3}));
}

TEST(Assemble, PutsHalvesOfSeveralRunsBackInPlace) {
  // Gate and up halves of [4]: rank r holds elements r and 2 + r.
  std::vector<Shard> shards;
  for (std::int64_t r = 0; r < 2; ++r) {
    const auto value = static_cast<double>(r);
    shards.push_back({.name = "t",
                      .full_shape = {4},
                      .local_shape = {2},
                      .slices = {{.dim = 0,
                                  .runs = {{.local = 0, .global = r, .count = 1},
                                           {.local = 1, .global = 2 + r, .count = 1}}}},
                      .values = {value, 2 + value}});
  }
  EXPECT_EQ(assemble(held(shards)).values, (std::vector<double>{0, 1, 2, 3}));
}

TEST(Assemble, TakesTheFirstHolderOfAReplica) {
  const std::vector<Shard> shards = {whole({1, 2}), whole({3, 4})};
  const Assembly assembly = assemble(held(shards));
  EXPECT_EQ(assembly.values, (std::vector<double>{1, 2}));
}

TEST(Assemble, TakesTheFirstHolderWhereAnotherPartCameBetween) {
  const std::vector<Shard> shards = {
      columns(0, {1, 2, 5, 6}), columns(2, {3, 4, 7, 8}), columns(0, {9, 9, 9, 9})};
  const Assembly assembly = assemble(held(shards));
  EXPECT_EQ(assembly.values, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Assemble, FollowsRunsThatLieInAnotherOrderLocally) {
  Shard shard = whole({2, 1});
  shard.slices[0].runs = {{.local = 1, .global = 0, .count = 1},
                          {.local = 0, .global = 1, .count = 1}};
  const std::vector<Shard> shards = {shard};
  EXPECT_EQ(assemble(held(shards)).values, (std::vector<double>{1, 2}));
}

TEST(Assemble, TellsOfAHole) {
  const std::vector<Shard> shards = {columns(0, {1, 2, 5, 6})};
  EXPECT_EQ(assemble(held(shards)).problem, "no rank holds 4 of its elements, the first is 2");
}

TEST(Assemble, TellsThatNobodyHoldsIt) { EXPECT_EQ(assemble({}).problem, "no rank holds it"); }

TEST(Assemble, TellsOfFullShapesThatDisagree) {
  const std::vector<Shard> shards = {whole({1, 2}), whole({1, 2, 3})};
  EXPECT_EQ(assemble(held(shards)).problem, "rank 1 has another full shape than rank 0");
}

TEST(Assemble, TellsOfAShardWithTooFewValues) {
  std::vector<Shard> shards = {whole({1, 2}), whole({1, 2})};
  shards[1].values.pop_back();
  EXPECT_EQ(assemble(held(shards)).problem,
            "rank 1: the number of values is not that of the local shape");
}

TEST(FillShard, TakesWhatTheSliceReachesAndZeroesPadding) {
  // Columns 3 and 0 of a [2, 4] tensor, in this order, and one of padding.
  Shard shard{.name = "t",
              .full_shape = {2, 4},
              .local_shape = {2, 3},
              .slices = {{.dim = 1,
                          .runs = {{.local = 0, .global = 3, .count = 1},
                                   {.local = 1, .global = 0, .count = 1}}}},
              .values = {7}};
  fill_shard(shard, [](std::int64_t full, std::span<double> local) {
    for (double& value : local) value = 10.0 + static_cast<double>(full++);
  });
  EXPECT_EQ(shard.values, (std::vector<double>{13, 10, 0, 17, 14, 0}));
}

TEST(FillShard, RefusesASliceThatDoesNotFit) {
  Shard shard = columns(3, {});
  EXPECT_THROW(fill_shard(shard, [](std::int64_t, std::span<double>) {}), InternalError);
}

TEST(ShardProblem, NamesEachMisfit) {
  Shard shard = columns(3, {1, 2, 3, 4});
  EXPECT_EQ(shard_problem(shard), "a run leaves the full shape");
  shard = columns(0, {1, 2, 3, 4});
  shard.slices[0].runs[0].local = 1;
  EXPECT_EQ(shard_problem(shard), "a run leaves the local shape");
  shard = columns(0, {1, 2, 3, 4});
  shard.slices[0].dim = 2;
  EXPECT_EQ(shard_problem(shard), "the cut dim does not exist");
  shard.slices[0].dim = 0;
  EXPECT_EQ(shard_problem(shard), "a dim that is not cut differs from the full shape");
  shard = whole({1, 2});
  shard.slices[0].runs = {{.local = 0, .global = 0, .count = 1},
                          {.local = 1, .global = 0, .count = 1}};
  EXPECT_EQ(shard_problem(shard), "two runs share a global index");
  shard.slices[0].runs = {{.local = 0, .global = 0, .count = 1},
                          {.local = 0, .global = 1, .count = 1}};
  EXPECT_EQ(shard_problem(shard), "two runs share a local index");
  shard.local_shape = {2, 1};
  EXPECT_EQ(shard_problem(shard), "the local shape has another number of dims than the full shape");
}

TEST(HoldsSameElements, LooksAtElementsNotAtHowTheyAreWritten) {
  const Shard one_run = whole({1, 2});
  Shard two_runs = whole({2, 1});
  two_runs.slices[0].runs = {{.local = 1, .global = 0, .count = 1},
                             {.local = 0, .global = 1, .count = 1}};
  EXPECT_TRUE(holds_same_elements(one_run, two_runs));
  EXPECT_FALSE(holds_same_elements(columns(0, {1, 2, 3, 4}), columns(2, {1, 2, 3, 4})));
  EXPECT_FALSE(holds_same_elements(whole({1}), whole({1, 2})));
}

// Rows and columns of a [4, 6] tensor, counting up from the full index.
Shard block(const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t count) {
  Shard shard{.name = "t",
              .full_shape = {4, 6},
              .local_shape = {static_cast<std::int64_t>(rows.size()), count},
              .slices = {{.dim = 0}, {.dim = 1, .runs = {{.global = first, .count = count}}}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t full = rows[i] * 6 + first + j;
      shard.values.push_back(rows[i] < 0 ? -1.0 : static_cast<double>(full));
    }
    if (rows[i] < 0) continue;
    const auto local = static_cast<std::int64_t>(i);
    shard.slices[0].runs.push_back({.local = local, .global = rows[i], .count = 1});
  }
  return shard;
}

std::vector<double> counted_up(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

TEST(Assemble, PutsPartsTogetherThatAreCutInTwoDims) {
  const std::vector<Shard> shards = {
      block({0, 3}, 0, 3), block({0, 3}, 3, 3), block({1, 2}, 0, 3), block({1, 2}, 3, 3)};
  const Assembly assembly = assemble(held(shards));
  EXPECT_EQ(assembly.problem, "");
  EXPECT_EQ(assembly.values, counted_up(24));
}

TEST(Assemble, FollowsRowsThatDescendAndLeavesPaddedOnesOut) {
  const std::vector<Shard> shards = {
      block({3, -1, 0}, 0, 4), block({2, 1}, 0, 4), block({0, 1, 2, 3}, 4, 2)};
  const Assembly assembly = assemble(held(shards));
  EXPECT_EQ(assembly.problem, "");
  EXPECT_EQ(assembly.values, counted_up(24));
}

TEST(Assemble, TellsOfAHoleInAPartThatIsCutInTwoDims) {
  const std::vector<Shard> shards = {block({0, 3}, 0, 6), block({1, 2}, 0, 5)};
  EXPECT_EQ(assemble(held(shards)).problem, "no rank holds 2 of its elements, the first is 11");
}

TEST(Assemble, TakesAShardWithoutSlicesForTheWholeTensor) {
  const std::vector<Shard> shards = {
      {.name = "t", .full_shape = {2, 2}, .local_shape = {2, 2}, .values = {1, 2, 3, 4}}};
  EXPECT_EQ(assemble(held(shards)).values, (std::vector<double>{1, 2, 3, 4}));
}

TEST(StretchesOf, AreAsLongAsTheCutsAllowAndAscendInTheFullTensor) {
  const auto text_of = [](const Shard& shard) {
    std::string text;
    for (const Stretch& stretch : stretches_of(shard)) {
      text += std::to_string(stretch.local) + ">" + std::to_string(stretch.full) + "x" +
              std::to_string(stretch.count) + " ";
    }
    return text;
  };
  EXPECT_EQ(text_of(block({3, 0}, 2, 3)), "3>2x3 0>20x3 ");
  EXPECT_EQ(text_of(block({1, 2}, 0, 6)), "0>6x12 ");
  EXPECT_EQ(text_of(block({}, 0, 3)), "");
  EXPECT_EQ(text_of({.name = "t", .full_shape = {2, 3}, .local_shape = {2, 3}}), "0>0x6 ");
  EXPECT_EQ(text_of(whole({1, 2, 3})), "0>0x3 ");
}

TEST(FillShard, FillsAPartThatIsCutInTwoDims) {
  const Shard right = block({3, -1, 0}, 2, 3);
  Shard shard = right;
  shard.values.clear();
  fill_shard(shard, [](std::int64_t full, std::span<double> local) {
    for (double& value : local) value = static_cast<double>(full++);
  });
  EXPECT_EQ(shard.values, (std::vector<double>{20, 21, 22, 0, 0, 0, 2, 3, 4}));
}

TEST(ShardProblem, NamesMisfitsOfEitherCut) {
  Shard shard = block({0, 3}, 2, 3);
  EXPECT_EQ(shard_problem(shard), "");
  shard.slices[1].runs[0].global = 4;
  EXPECT_EQ(shard_problem(shard), "a run leaves the full shape");
  shard = block({0, 0}, 2, 3);
  EXPECT_EQ(shard_problem(shard), "two runs share a global index");
  shard = block({0, 3}, 2, 3);
  std::swap(shard.slices[0], shard.slices[1]);
  EXPECT_EQ(shard_problem(shard), "the cut dims do not ascend");
  shard.slices[1].dim = 1;
  EXPECT_EQ(shard_problem(shard), "the cut dims do not ascend") << "each is cut once";
  shard = block({0, 3}, 2, 3);
  shard.slices.pop_back();
  EXPECT_EQ(shard_problem(shard), "a dim that is not cut differs from the full shape");
}

TEST(HoldsSameElements, SeesTheSameElementsCutInOneDimAndInTwo) {
  Shard rows = block({1, 2}, 0, 6);
  const Shard both = rows;
  rows.slices.pop_back();
  EXPECT_TRUE(holds_same_elements(rows, both));
  EXPECT_TRUE(holds_same_elements(both, block({2, 1}, 0, 6)));
  EXPECT_FALSE(holds_same_elements(both, block({1, 2}, 0, 5)));
  EXPECT_FALSE(holds_same_elements(both, block({1, 3}, 0, 6)));
}

}  // namespace
}  // namespace lockstep::test
