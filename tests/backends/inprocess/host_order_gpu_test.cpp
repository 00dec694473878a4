// Whatever ranks do on a GPU, they read there what they read on the CPU: the order of the host is
// kept, for programs that use buffers while they may not be used too.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "core/tensor/cuda/gpu.h"
#include "tests/backends/inprocess/careless_program.h"

namespace lockstep::test {
namespace {

using sim::ClusterOptions;
using sim::RankHost;

class HostOrder : public testing::Test {
 protected:
  Gpu gpu_{0};
};

// As bits, but that a NaN is as good as another: which one comes of a sum is not the same
// everywhere.
std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) {
    bits.push_back(value != value ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value));
  }
  return bits;
}

void expect_same(const CarelessRun& found, const CarelessRun& wanted, const std::string& where) {
  ASSERT_EQ(found.logs.size(), wanted.logs.size());
  for (std::size_t rank = 0; rank < wanted.logs.size(); ++rank) {
    const std::vector<std::uint64_t> a = bits_of(found.logs[rank]);
    const std::vector<std::uint64_t> b = bits_of(wanted.logs[rank]);
    ASSERT_EQ(a.size(), b.size()) << where;
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin());
    if (differ.first == a.end()) continue;
    const auto at = static_cast<std::size_t>(differ.first - a.begin());
    ADD_FAILURE() << where << ", rank " << rank << ": number " << at << " of " << a.size()
                  << " that it read is " << found.logs[rank][at] << ", on the CPU "
                  << wanted.logs[rank][at] << " (" << wanted.notes[rank][at] << ")";
  }
  EXPECT_EQ(found.findings, wanted.findings) << where;
}

TEST_F(HostOrder, OfCarelessProgramsIsThatOfTheCpu) {
  for (const Completion completion : {Completion::kEarly, Completion::kLate, Completion::kSeeded}) {
    for (const ReductionOrder order : {ReductionOrder::kRank,
                                       ReductionOrder::kRing,
                                       ReductionOrder::kTree,
                                       ReductionOrder::kShuffled}) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        ClusterOptions options{
            .reduction_order = order, .completion = completion, .schedule_seed = seed};
        const CarelessRun on_cpu = run_careless(5, seed, options);
        options.gpu = &gpu_;
        const std::string where = "completion " + std::to_string(static_cast<int>(completion)) +
                                  ", order " + std::to_string(static_cast<int>(order)) + ", seed " +
                                  std::to_string(seed);
        expect_same(run_careless(5, seed, options), on_cpu, where);
      }
    }
  }
}

// The order in which the CPU and a GPU fill with NaN shows in what a rank reads before its wait.
TEST_F(HostOrder, OutputsHoldTheCpusPoisonUntilTheWait) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kI64}) {
    for (const std::int64_t count : {1, 1000, 1025, 5000, 131'071, 131'072, 600'001}) {
      std::vector<std::vector<std::byte>> seen;
      for (Gpu* const gpu : {static_cast<Gpu*>(nullptr), &gpu_}) {
        const auto report = spawn_ranks(
            2,
            [&](TestRank& r) {
              const auto tp = r.connect(GroupKind::kTp);
              const Tensor input = r.empty(count, dtype);
              const Tensor output = r.empty(count, dtype);
              const std::vector<std::byte> before(
                  static_cast<std::size_t>(output.buffer().num_bytes()), std::byte{0x11});
              put_bytes(r.device, output.buffer(), before);
              const CollectiveCall call{
                  .label = "test.sum", .input = input.buffer(), .output = output.buffer()};
              const Ticket ticket = tp->submit({&call, 1});
              if (r.rank.value == 0) seen.push_back(bytes_of(r.device, output.buffer()));
              wait_for(r.device, ticket, "test.wait");
            },
            {.completion = Completion::kLate, .gpu = gpu});
        ASSERT_EQ(to_text(report), "");
      }
      ASSERT_EQ(seen.size(), 2U);
      EXPECT_TRUE(seen[0] == seen[1]) << name_of(dtype) << ", " << count << " elements";
      EXPECT_NE(seen[0], std::vector<std::byte>(seen[0].size(), std::byte{0x11}));
    }
  }
}

// Computes on one stream, whose work the call follows, and waits on another one.
void right_program(TestRank& r, std::vector<double>& sums) {
  constexpr Stream kCompute{1};
  constexpr Stream kRead{2};
  constexpr std::int64_t kCount = 4;
  const auto tp = r.connect(GroupKind::kTp);
  for (int round = 0; round < 20; ++round) {
    const Tensor values = allocate_tensor(r.device, DType::kF64, {kCount}, "test.x", kCompute);
    set_slowly(r, values, 1.0 + r.rank.value + 10.0 * round, kCompute);
    const CollectiveCall call{.label = "test.sum",
                              .input = values.buffer(),
                              .output = values.buffer(),
                              .stream = kCompute};
    const Ticket ticket = tp->submit({&call, 1});
    wait_for(r.device, ticket, "test.wait", kRead);
    sums.push_back(values_of(r.device, values, kRead)[kCount - 1]);
  }
}

TEST_F(HostOrder, AProgramThatWaitsIsRightOnAnyStreamsAndHosts) {
  constexpr int kRanks = 4;
  for (const RankHost host : {RankHost::kFibers, RankHost::kThreads}) {
    for (const Completion completion :
         {Completion::kEarly, Completion::kLate, Completion::kSeeded}) {
      std::vector<std::vector<double>> sums(kRanks);
      const sim::ClusterReport report = spawn_ranks(
          kRanks,
          [&](TestRank& r) { right_program(r, sums[static_cast<std::size_t>(r.rank.value)]); },
          {.host = host, .completion = completion, .schedule_seed = 3, .gpu = &gpu_});
      EXPECT_EQ(to_text(report), "");
      for (const std::vector<double>& of_rank : sums) {
        ASSERT_EQ(of_rank.size(), 20U);
        for (int round = 0; round < 20; ++round) {
          EXPECT_EQ(of_rank[static_cast<std::size_t>(round)], 10.0 + 40.0 * round)
              << "round " << round << ", completion " << static_cast<int>(completion);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
