// Bits of reductions over Gloo: in which order it sums, where it rounds, what becomes of NaN.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "tests/support/gloo_ranks.h"

namespace lockstep::test {
namespace {

using backends::TrialOutcome;

// Values whose sum depends on the order in which it is taken.
std::vector<double> drawn(int rank, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::int64_t>(
        random_bits(7, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i)) >> 11U);
    values.push_back(std::ldexp(static_cast<double>(bits), static_cast<int>(bits % 40) - 53));
  }
  return values;
}

// What each rank holds after `program`, by rank.
std::vector<std::vector<double>> results_of(
    int size, const std::function<std::vector<double>(TestRank&, Communicator&)>& program) {
  std::vector<std::vector<double>> results(static_cast<std::size_t>(size));
  const TrialOutcome outcome = run_gloo_ranks(size, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    results[static_cast<std::size_t>(r.rank.value)] = program(r, *tp);
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
  EXPECT_EQ(outcome.num_calls, outcome.num_matched);
  return results;
}

class GlooWorlds : public testing::TestWithParam<int> {};

TEST_P(GlooWorlds, AllReduceGivesEqualBitsOnAllRanks) {
  const int size = GetParam();
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{5}, std::int64_t{1001}}) {
    const auto results = results_of(size, [&](TestRank& r, Communicator& tp) {
      const Tensor x = r.tensor(drawn(r.rank.value, count));
      run_call(tp, {.label = "test.sum", .input = x.buffer(), .output = x.buffer()});
      return values_of(x);
    });
    for (const auto& result : results) EXPECT_EQ(result, results.front());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      double sum = 0.0;
      double magnitude = 0.0;
      for (int rank = 0; rank < size; ++rank) {
        sum += drawn(rank, count)[i];
        magnitude += std::abs(drawn(rank, count)[i]);
      }
      EXPECT_LE(std::abs(results.front()[i] - sum), 1e-14 * magnitude) << "element " << i;
    }
  }
}

// Parts of 1, 2, ... elements and none for every third rank.
std::vector<std::int64_t> uneven(int size) {
  std::vector<std::int64_t> parts;
  for (int i = 0; i < size; ++i) parts.push_back(i % 3 == 1 ? 0 : i + 1);
  return parts;
}

TEST_P(GlooWorlds, ReduceScatterSumsUnevenPartsInRankOrder) {
  const int size = GetParam();
  const std::vector<std::int64_t> parts = uneven(size);
  const std::int64_t count = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  const auto results = results_of(size, [&](TestRank& r, Communicator& tp) {
    const Tensor x = r.tensor(drawn(r.rank.value, count));
    const Tensor y = r.empty(parts[static_cast<std::size_t>(r.rank.value)]);
    run_call(tp,
             {.label = "test.scatter",
              .kind = CollectiveKind::kReduceScatter,
              .input = x.buffer(),
              .output = y.buffer(),
              .input_splits = parts});
    return values_of(y);
  });
  std::size_t element = 0;
  for (const auto& result : results) {
    for (const double value : result) {
      double sum = drawn(0, count)[element];
      for (int rank = 1; rank < size; ++rank) sum += drawn(rank, count)[element];
      EXPECT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(sum));
      ++element;
    }
  }
  EXPECT_EQ(element, static_cast<std::size_t>(count));
}

INSTANTIATE_TEST_SUITE_P(Sizes, GlooWorlds, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

// Element e is NaN on rank e % 3; whoever reduces it has its own element at the left.
TEST(GlooMaximum, KeepsNaNOfWhicheverRank) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto results = results_of(3, [&](TestRank& r, Communicator& tp) {
    std::vector<double> values(9, 1.0 + r.rank.value);
    for (std::size_t e = static_cast<std::size_t>(r.rank.value); e < 9; e += 3) values[e] = nan;
    const Tensor x = r.tensor(values);
    run_call(
        tp, {.label = "test.max", .input = x.buffer(), .output = x.buffer(), .op = ReduceOp::kMax});
    return values_of(x);
  });
  for (const auto& result : results) {
    for (const double value : result) EXPECT_TRUE(std::isnan(value));
  }
}

// The neighbours of 512 among bf16 are 4 apart: 512 + 1 and 512 + 2 are 512 again, in any order.
TEST(GlooSumOfBf16, IsRoundedAtEachHop) {
  const auto results = results_of(4, [&](TestRank& r, Communicator& tp) {
    const Tensor x = r.empty(1, DType::kBF16);
    x.data<BF16>()[0] = rounded_to_bf16(r.rank.value == 0 ? 512.0F : 1.0F);
    run_call(tp, {.label = "test.sum", .input = x.buffer(), .output = x.buffer()});
    return values_of(x);
  });
  // The exact sum, 515, rounded once would be 516.
  for (const auto& result : results) EXPECT_EQ(result, (std::vector<double>{512.0}));
}

}  // namespace
}  // namespace lockstep::test
