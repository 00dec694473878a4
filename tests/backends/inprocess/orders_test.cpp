// The order of a sum is the one that was asked for: told by inputs whose sum depends on it.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>
#include <vector>

#include "core/base/random.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using sim::ClusterOptions;
using sim::RankHost;

// All-reduces one double a rank, repeated `count` times, and gives rank 0's result.
std::vector<double> sum_of(const std::vector<double>& by_rank,
                           int count,
                           const ClusterOptions& options,
                           int num_before = 0) {
  std::vector<double> result;
  spawn_ranks(
      static_cast<int>(by_rank.size()),
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        for (int i = 0; i < num_before; ++i) {
          run_call(*tp, {.label = "test.before", .kind = CollectiveKind::kBarrier});
        }
        const Tensor values = r.tensor(std::vector<double>(
            static_cast<std::size_t>(count), by_rank[static_cast<std::size_t>(r.rank.value)]));
        run_call(*tp,
                 {.label = "test.sum",
                  .kind = CollectiveKind::kAllReduce,
                  .input = values.buffer(),
                  .output = values.buffer()});
        if (r.rank.value == 0) result = values_of(values);
      },
      options);
  return result;
}

constexpr double kHuge = 1e30;  // swallows 1, and only -kHuge takes it away again

TEST(ReductionOrder, OfRankAddsFromTheFirstToTheLast) {
  const ClusterOptions options{.reduction_order = ReductionOrder::kRank};
  EXPECT_EQ(sum_of({kHuge, -kHuge, 1, 1}, 1, options)[0], 2.0);
  EXPECT_EQ(sum_of({1, kHuge, -kHuge, 1}, 1, options)[0], 1.0);
  EXPECT_EQ(sum_of({1, 1, kHuge, -kHuge}, 1, options)[0], 0.0);
}

TEST(ReductionOrder, OfATreeAddsHalvesApart) {
  const ClusterOptions options{.reduction_order = ReductionOrder::kTree};
  EXPECT_EQ(sum_of({kHuge, -kHuge, 1, 1}, 1, options)[0], 2.0);
  EXPECT_EQ(sum_of({1, 1, kHuge, -kHuge}, 1, options)[0], 2.0);
  EXPECT_EQ(sum_of({1, kHuge, -kHuge, 1}, 1, options)[0], 0.0);
  // Five ranks: ((0 1) 2) and (3 4).
  EXPECT_EQ(sum_of({kHuge, -kHuge, 1, 1, 1}, 1, options)[0], 3.0);
}

TEST(ReductionOrder, OfARingStartsEachChunkAtTheRankAfterItsOwner) {
  const ClusterOptions options{.reduction_order = ReductionOrder::kRing};
  // Chunk c adds ranks c + 1, c + 2, ... c.
  EXPECT_EQ(sum_of({kHuge, -kHuge, 1, 1}, 4, options), (std::vector<double>{0, 0, 1, 2}));
}

TEST(ReductionOrder, OfARingMakesReduceScatterAgreeWithAllReduce) {
  std::vector<double> scattered(4);
  spawn_ranks(4,
              [&](TestRank& r) {
                const auto tp = r.connect(GroupKind::kTp);
                const std::vector<double> by_rank{kHuge, -kHuge, 1, 1};
                const auto me = static_cast<std::size_t>(r.rank.value);
                const Tensor values = r.tensor(std::vector<double>(4, by_rank[me]));
                const Tensor part = r.empty(1);
                run_call(*tp,
                         {.label = "test.scatter",
                          .kind = CollectiveKind::kReduceScatter,
                          .input = values.buffer(),
                          .output = part.buffer()});
                scattered[me] = values_of(part)[0];
              },
              {.reduction_order = ReductionOrder::kRing});
  EXPECT_EQ(scattered, (std::vector<double>{0, 0, 1, 2}));
}

TEST(ReductionOrder, ShuffledDependsOnSeedAndCallAndNothingElse) {
  const std::vector<double> by_rank{kHuge, -kHuge, 1, 1, 1, 1};
  std::set<double> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ClusterOptions options{.reduction_order = ReductionOrder::kShuffled, .schedule_seed = seed};
    const double sum = sum_of(by_rank, 1, options)[0];
    seen.insert(sum);
    EXPECT_EQ(sum_of(by_rank, 1, options)[0], sum);
    options.host = RankHost::kThreads;
    EXPECT_EQ(sum_of(by_rank, 1, options)[0], sum);
  }
  EXPECT_GT(seen.size(), 2U);
  seen.clear();
  for (int call = 0; call < 20; ++call) {
    seen.insert(sum_of(by_rank, 1, {.reduction_order = ReductionOrder::kShuffled}, call)[0]);
  }
  EXPECT_GT(seen.size(), 2U);
}

// Each dp group sums the same three numbers: a tensor that is replicated over tp stays so.
TEST(ReductionOrder, ShuffledIsTheSameInAllGroupsOfAKind) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> sums(6);
    spawn_ranks(
        test::layout_of({.tp = 2, .dp = 3}),
        [&](TestRank& r) {
          const auto dp = r.connect(GroupKind::kDp);
          const double by_dp_rank[] = {kHuge, 1.0, -kHuge};
          const Tensor value = r.tensor({by_dp_rank[r.mesh.coordinate(r.rank, Axis::kDp)]});
          run_call(*dp, {.label = "test.sum", .input = value.buffer(), .output = value.buffer()});
          sums[static_cast<std::size_t>(r.rank.value)] = values_of(value)[0];
        },
        {.reduction_order = ReductionOrder::kShuffled, .schedule_seed = seed});
    EXPECT_EQ(sums, std::vector<double>(6, sums[0])) << "seed " << seed;
  }
}

TEST(ReductionOrder, OfBF16RoundsAtEachHop) {
  std::uint16_t result = 0;
  spawn_ranks(4, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor values = r.empty(1, DType::kBF16);
    // 256 + 1 rounds back to 256 at each hop; their exact sum is 259.
    values.data<std::uint16_t>()[0] = r.rank.value == 0 ? 0x4380 : 0x3f80;
    run_call(*tp,
             {.label = "test.sum",
              .kind = CollectiveKind::kAllReduce,
              .input = values.buffer(),
              .output = values.buffer()});
    if (r.rank.value == 3) result = values.data<std::uint16_t>()[0];
  });
  EXPECT_EQ(result, 0x4380);
}

TEST(ReductionOrder, GivesAllRanksEqualBitsOnBothHostsAtEveryLength) {
  // Lengths around the block size and the threshold of streaming.
  for (const std::int64_t count : {1, 7, 511, 512, 513, 1300}) {
    for (const ReductionOrder order : {ReductionOrder::kRank,
                                       ReductionOrder::kRing,
                                       ReductionOrder::kTree,
                                       ReductionOrder::kShuffled}) {
      std::vector<std::vector<double>> results;
      for (const RankHost host : {RankHost::kFibers, RankHost::kThreads}) {
        std::vector<std::vector<double>> by_rank(5);
        spawn_ranks(5,
                    [&](TestRank& r) {
                      const auto me = static_cast<std::uint64_t>(r.rank.value);
                      const auto tp = r.connect(GroupKind::kTp);
                      const Tensor input = r.empty(count);
                      const Tensor output = r.empty(count);
                      for (std::int64_t i = 0; i < count; ++i) {
                        input.data<double>()[i] =
                            random_signed(1, me, static_cast<std::uint64_t>(i));
                      }
                      run_call(*tp,
                               {.label = "test.sum",
                                .kind = CollectiveKind::kAllReduce,
                                .input = input.buffer(),
                                .output = output.buffer()});
                      by_rank[me] = values_of(output);
                    },
                    {.host = host, .reduction_order = order});
        results.insert(results.end(), by_rank.begin(), by_rank.end());
      }
      for (const std::vector<double>& result : results) {
        ASSERT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * 8), 0);
      }
    }
  }
}

TEST(ReductionOrder, SumsLargeOutputsAsSmallOnes) {
  // Two outputs of 8 MiB are written past the caches, at an offset that is not aligned.
  const std::int64_t count = (std::int64_t{1} << 20) + 3;
  spawn_ranks(2, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor input = r.empty(count);
    const Tensor output = r.empty(count + 1);
    for (std::int64_t i = 0; i < count; ++i) {
      input.data<double>()[i] = static_cast<double>(i + r.rank.value);
    }
    Buffer target = output.buffer();
    target.offset = 1;
    target.count = count;
    run_call(*tp,
             {.label = "test.sum",
              .kind = CollectiveKind::kAllReduce,
              .input = input.buffer(),
              .output = target});
    std::int64_t num_wrong = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (output.data<double>()[i + 1] != static_cast<double>(2 * i + 1)) ++num_wrong;
    }
    EXPECT_EQ(num_wrong, 0);
  });
}

}  // namespace
}  // namespace lockstep::test
