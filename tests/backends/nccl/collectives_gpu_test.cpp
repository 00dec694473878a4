// Sums, parts and maxima over NCCL on one GPU, in worlds up to the most ranks that may share it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "tests/support/device_memory.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using backends::TrialOutcome;

template <typename T>
std::vector<std::byte> as_bytes(const std::vector<double>& values, T (*narrow)(double)) {
  std::vector<T> narrowed;
  for (const double value : values) narrowed.push_back(narrow(value));
  const auto bytes = std::as_bytes(std::span(narrowed));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> bytes_as(DType dtype, const std::vector<double>& values) {
  switch (dtype) {
    case DType::kF64:
      return as_bytes<double>(values, [](double value) { return value; });
    case DType::kF32:
      return as_bytes<float>(values, [](double value) { return static_cast<float>(value); });
    case DType::kBF16:
      return as_bytes<BF16>(
          values, [](double value) { return rounded_to_bf16(static_cast<float>(value)); });
    case DType::kI64:
      return as_bytes<std::int64_t>(values,
                                    [](double value) { return static_cast<std::int64_t>(value); });
  }
  return {};
}

Tensor tensor_of(const TestRank& r, DType dtype, const std::vector<double>& values) {
  const Tensor tensor = r.empty(std::ssize(values), dtype);
  put_bytes(r.device, tensor.buffer(), bytes_as(dtype, values));
  return tensor;
}

void expect_well(const TrialOutcome& outcome) {
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
  EXPECT_EQ(outcome.num_calls, outcome.num_matched);
}

class NcclWorlds : public testing::TestWithParam<int> {
 protected:
  const int size_ = GetParam();
};

constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kI64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMax};

// Element i of rank r: small integers, whose sums are exact in every dtype.
double given(int rank, std::size_t i) { return (rank + static_cast<int>(i)) % 5 - 2; }

std::vector<double> given_by(int rank, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(given(rank, i));
  return values;
}

std::vector<double> reduced(ReduceOp op, int size, std::size_t count) {
  std::vector<double> values(count, op == ReduceOp::kSum ? 0.0 : -100.0);
  for (int rank = 0; rank < size; ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      const double next = given(rank, i);
      values[i] = op == ReduceOp::kSum ? values[i] + next : std::max(values[i], next);
    }
  }
  return values;
}

std::string at(const TestRank& r, DType dtype, ReduceOp op) {
  return "rank " + std::to_string(r.rank.value) + " " + std::string(name_of(dtype)) + " " +
         std::string(name_of(op));
}

TEST_P(NcclWorlds, AllReduceIsExactInEveryDtype) {
  constexpr std::size_t kCount = 1003;
  expect_well(run_nccl_ranks(size_, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    for (const DType dtype : kDTypes) {
      for (const ReduceOp op : kOps) {
        const Tensor x = tensor_of(r, dtype, given_by(r.rank.value, kCount));
        const Tensor y = r.empty(kCount, dtype);
        run_call(*tp, {.label = "test.sum", .input = x.buffer(), .output = y.buffer(), .op = op});
        EXPECT_EQ(bytes_of(r.device, y.buffer()), bytes_as(dtype, reduced(op, size_, kCount)))
            << at(r, dtype, op);
      }
    }
  }));
}

TEST_P(NcclWorlds, ReduceScatterGivesEachRankItsPart) {
  constexpr std::size_t kPart = 7;
  const std::size_t count = kPart * static_cast<std::size_t>(size_);
  expect_well(run_nccl_ranks(size_, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const auto first = static_cast<std::ptrdiff_t>(kPart) * r.rank.value;
    for (const DType dtype : kDTypes) {
      for (const ReduceOp op : kOps) {
        const Tensor x = tensor_of(r, dtype, given_by(r.rank.value, count));
        const Tensor y = r.empty(kPart, dtype);
        run_call(*tp,
                 {.label = "test.scatter",
                  .kind = CollectiveKind::kReduceScatter,
                  .input = x.buffer(),
                  .output = y.buffer(),
                  .op = op});
        const std::vector<double> whole = reduced(op, size_, count);
        const std::vector<double> part(whole.begin() + first, whole.begin() + first + kPart);
        EXPECT_EQ(bytes_of(r.device, y.buffer()), bytes_as(dtype, part)) << at(r, dtype, op);
      }
    }
  }));
}

TEST_P(NcclWorlds, UnevenPartsAreGatheredAndScattered) {
  std::vector<std::int64_t> parts;
  for (int i = 0; i < size_; ++i) parts.push_back(i % 3 == 1 ? 0 : i + 1);
  std::int64_t count = 0;
  for (const std::int64_t part : parts) count += part;
  expect_well(run_nccl_ranks(size_, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const std::int64_t mine = parts[static_cast<std::size_t>(r.rank.value)];
    const std::vector<double> all = given_by(r.rank.value, static_cast<std::size_t>(count));
    const Tensor x = tensor_of(r, DType::kF64, all);
    const Tensor part = r.empty(mine);
    const Tensor whole = r.empty(count);
    run_call(*tp,
             {.label = "test.scatter",
              .kind = CollectiveKind::kReduceScatter,
              .input = x.buffer(),
              .output = part.buffer(),
              .input_splits = parts});
    run_call(*tp,
             {.label = "test.gather",
              .kind = CollectiveKind::kAllGather,
              .input = part.buffer(),
              .output = whole.buffer(),
              .output_splits = parts});
    EXPECT_EQ(values_of(r.device, whole),
              reduced(ReduceOp::kSum, size_, static_cast<std::size_t>(count)))
        << "rank " << r.rank.value;
  }));
}

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

TEST_P(NcclWorlds, AllReduceGivesEqualBitsOnAllRanks) {
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{1001}, std::int64_t{300000}}) {
    std::vector<std::vector<double>> results(static_cast<std::size_t>(size_));
    expect_well(run_nccl_ranks(size_, [&](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      const Tensor x = r.tensor(drawn(r.rank.value, count));
      run_call(*tp, {.label = "test.sum", .input = x.buffer(), .output = x.buffer()});
      results[static_cast<std::size_t>(r.rank.value)] = values_of(r.device, x);
    }));
    std::vector<double> sum(static_cast<std::size_t>(count));
    std::vector<double> magnitude(static_cast<std::size_t>(count));
    for (int rank = 0; rank < size_; ++rank) {
      const std::vector<double> its = drawn(rank, count);
      for (std::size_t i = 0; i < its.size(); ++i) {
        sum[i] += its[i];
        magnitude[i] += std::abs(its[i]);
      }
    }
    for (const auto& result : results) ASSERT_EQ(result, results.front()) << count << " elements";
    ASSERT_EQ(results.front().size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      ASSERT_LE(std::abs(results.front()[i] - sum[i]), 1e-14 * magnitude[i]) << "element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, NcclWorlds, testing::Values(2, 4, 8, 16));

// Element e is NaN on rank e % 4.
TEST(NcclMaximum, KeepsNaNOfWhicheverRank) {
  expect_well(run_nccl_ranks(4, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    std::vector<double> values(8, 1.0 + r.rank.value);
    for (std::size_t e = static_cast<std::size_t>(r.rank.value); e < 8; e += 4) {
      values[e] = std::numeric_limits<double>::quiet_NaN();
    }
    const Tensor x = r.tensor(values);
    const Tensor part = r.empty(2);
    run_call(*tp,
             {.label = "test.max_part",
              .kind = CollectiveKind::kReduceScatter,
              .input = x.buffer(),
              .output = part.buffer(),
              .op = ReduceOp::kMax});
    for (const double value : values_of(r.device, part)) EXPECT_TRUE(std::isnan(value));
    run_call(
        *tp,
        {.label = "test.max", .input = x.buffer(), .output = x.buffer(), .op = ReduceOp::kMax});
    for (const double value : values_of(r.device, x)) EXPECT_TRUE(std::isnan(value));
  }));
}

// All groups of a mesh at once: several communicators of a rank, in one order on all of them.
TEST(NcclGroups, OfSixteenRanksSumOverTheirOwnMembers) {
  const Layout layout = layout_of({.tp = 4, .dp = 2, .pp = 2});
  expect_well(run_nccl_ranks(layout, [&](TestRank& r) {
    for (const GroupKind kind : {GroupKind::kWorld,
                                 GroupKind::kTp,
                                 GroupKind::kDp,
                                 GroupKind::kPp,
                                 GroupKind::kTpDp,
                                 GroupKind::kModel,
                                 GroupKind::kEmbedding}) {
      const auto communicator = r.connect(kind);
      double sum = 0.0;
      for (const Rank member : communicator->group().ranks) sum += 1.0 + member.value;
      const Tensor x = r.tensor({1.0 + r.rank.value});
      run_call(*communicator, {.label = "test.sum", .input = x.buffer(), .output = x.buffer()});
      EXPECT_EQ(values_of(r.device, x)[0], sum) << to_text(communicator->group());
    }
  }));
}

// Odd ranks submit and wait in the opposite order of even ones.
TEST(NcclOrder, IsOneForAllRanksThoughTheyCrossTheirCommunicators) {
  expect_well(run_nccl_ranks(layout_of({.tp = 4, .dp = 2}), [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const auto world = r.connect(GroupKind::kWorld);
    const bool is_odd = r.rank.value % 2 == 1;
    for (int round = 0; round < 20; ++round) {
      const Tensor x = r.tensor({1.0});
      const Tensor y = r.tensor({1.0});
      const CollectiveCall in_tp{.label = "test.tp", .input = x.buffer(), .output = x.buffer()};
      const CollectiveCall in_world{.label = "test.all", .input = y.buffer(), .output = y.buffer()};
      Ticket first = is_odd ? tp->submit({&in_tp, 1}) : world->submit({&in_world, 1});
      Ticket second = is_odd ? world->submit({&in_world, 1}) : tp->submit({&in_tp, 1});
      if (round % 2 == 1) std::swap(first, second);
      first.source->wait(first.sequence, {}, "test.first");
      second.source->wait(second.sequence, {}, "test.second");
      EXPECT_EQ(values_of(r.device, x)[0], 4.0);
      EXPECT_EQ(values_of(r.device, y)[0], 8.0);
    }
  }));
}

TEST(NcclSubmit, OfSeveralCallsIsOneGroup) {
  expect_well(run_nccl_ranks(4, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const double mine = 1.0 + r.rank.value;
    const Tensor x = r.tensor({mine});
    const Tensor y = r.tensor({mine, mine});
    const Tensor own = r.tensor({mine});
    const Tensor gathered = r.empty(4);
    const Tensor parts = r.tensor({mine, 10 * mine, 100 * mine, 1000 * mine});
    const Tensor taken = r.empty(4);
    const std::vector<CollectiveCall> calls{
        {.label = "test.sum", .input = x.buffer(), .output = x.buffer()},
        {.label = "test.max", .input = y.buffer(), .output = y.buffer(), .op = ReduceOp::kMax},
        {.label = "test.gather",
         .kind = CollectiveKind::kAllGather,
         .input = own.buffer(),
         .output = gathered.buffer()},
        {.label = "test.exchange",
         .kind = CollectiveKind::kAllToAll,
         .input = parts.buffer(),
         .output = taken.buffer()},
        {.label = "test.barrier", .kind = CollectiveKind::kBarrier}};
    const Ticket ticket = tp->submit(calls);
    ticket.source->wait(ticket.sequence, {}, "test.wait");
    EXPECT_EQ(values_of(r.device, x), (std::vector<double>{10.0}));
    EXPECT_EQ(values_of(r.device, y), (std::vector<double>{4.0, 4.0}));
    EXPECT_EQ(values_of(r.device, gathered), (std::vector<double>{1.0, 2.0, 3.0, 4.0}));
    const double unit = std::pow(10.0, r.rank.value);
    EXPECT_EQ(values_of(r.device, taken),
              (std::vector<double>{unit, 2 * unit, 3 * unit, 4 * unit}));
  }));
}

}  // namespace
}  // namespace lockstep::test
