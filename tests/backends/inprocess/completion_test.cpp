// When inputs are read and outputs written: early, late, or one or the other by the seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/tensor/storage.h"
#include "tests/support/message_calls.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using sim::ClusterReport;

struct Seen {
  double before_wait = 0.0;
  double after_wait = 0.0;
};

CollectiveCall sum(const Tensor& input, const Tensor& output) {
  return {.label = "test.sum",
          .kind = CollectiveKind::kAllReduce,
          .input = input.buffer(),
          .output = output.buffer()};
}

// Two ranks submit 1 and 1; rank 0 changes its input to 10 after both have, before any waits. Gives
// what rank 1 sees before and after its wait, of the `number`-th call.
Seen changed_after_submit(Completion completion, std::uint64_t seed = 0, int number = 1) {
  Seen seen;
  const ClusterReport report = spawn_ranks(
      2,
      [&](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        const auto world = r.connect(GroupKind::kWorld);
        const CollectiveCall barrier{.label = "test.barrier", .kind = CollectiveKind::kBarrier};
        for (int i = 1; i <= number; ++i) {
          const Tensor input = r.tensor({1});
          const Tensor output = r.empty(1);
          const CollectiveCall call = sum(input, output);
          const Ticket ticket = tp->submit({&call, 1});
          run_call(*world, barrier);
          if (r.rank.value == 0) input.data<double>()[0] = 10.0;
          run_call(*world, barrier);
          if (r.rank.value == 1) seen.before_wait = values_of(output)[0];
          ticket.source->wait(ticket.sequence, {}, "test.wait");
          if (r.rank.value == 1) seen.after_wait = values_of(output)[0];
        }
      },
      {.completion = completion, .schedule_seed = seed});
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  return seen;
}

TEST(EarlyCompletion, ReadsAndWritesWhenTheLastMemberSubmits) {
  const Seen seen = changed_after_submit(Completion::kEarly);
  EXPECT_EQ(seen.before_wait, 2.0);
  EXPECT_EQ(seen.after_wait, 2.0);
}

TEST(LateCompletion, ReadsAtTheFirstWaitAndWritesAtEachRanksOwn) {
  const Seen seen = changed_after_submit(Completion::kLate);
  EXPECT_TRUE(std::isnan(seen.before_wait));
  EXPECT_EQ(seen.after_wait, 11.0);
}

TEST(SeededCompletion, IsEarlyOrLateByCallAndSeed) {
  int num_late = 0;
  for (int number = 1; number <= 16; ++number) {
    const Seen seen = changed_after_submit(Completion::kSeeded, 3, number);
    const bool late = std::isnan(seen.before_wait);
    num_late += late ? 1 : 0;
    EXPECT_EQ(seen.after_wait, late ? 11.0 : 2.0);
    EXPECT_EQ(std::isnan(changed_after_submit(Completion::kSeeded, 3, number).before_wait), late);
  }
  EXPECT_GT(num_late, 0);
  EXPECT_LT(num_late, 16);
}

TEST(LateCompletion, DeliversToARankOnlyWhatItWaitsFor) {
  double never_waited = 0.0;
  const ClusterReport report =
      spawn_ranks(2,
                  [&](TestRank& r) {
                    const auto tp = r.connect(GroupKind::kTp);
                    const auto world = r.connect(GroupKind::kWorld);
                    const Tensor input = r.tensor({1});
                    const Tensor output = r.empty(1);
                    const CollectiveCall call = sum(input, output);
                    const Ticket ticket = tp->submit({&call, 1});
                    if (r.rank.value == 0) ticket.source->wait(ticket.sequence, {}, "test.wait");
                    run_call(*world, {.label = "test.end", .kind = CollectiveKind::kBarrier});
                    if (r.rank.value == 0) {
                      EXPECT_EQ(values_of(output)[0], 2.0);
                    } else {
                      never_waited = values_of(output)[0];
                    }
                  },
                  {.completion = Completion::kLate});
  EXPECT_TRUE(std::isnan(never_waited));
  ASSERT_EQ(report.findings.size(), 1U) << to_text(report);
  EXPECT_EQ(report.findings[0].kind, backends::FindingKind::kPending);
  EXPECT_EQ(report.findings[0].label, "test.sum");
}

// It waits already when the other's submit completes the call, and comes to its turn only once that
// one has ended and taken its input along.
TEST(LateCompletion, AWaitThatACallEndedNeverReadsFromARankThatIsGone) {
  for (const bool throws : {false, true}) {
    bool waited = false;
    const ClusterReport report = spawn_ranks(2,
                                             [&](TestRank& r) {
                                               const auto tp = r.connect(GroupKind::kTp);
                                               const Tensor input = r.tensor({1});
                                               const Tensor output = r.empty(1);
                                               const CollectiveCall call = sum(input, output);
                                               const Ticket ticket = tp->submit({&call, 1});
                                               if (r.rank.value == 1) {
                                                 if (throws) throw std::runtime_error("planted");
                                                 return;
                                               }
                                               wait(ticket);
                                               waited = true;
                                             },
                                             {.completion = Completion::kLate});
    EXPECT_FALSE(waited);
    ASSERT_FALSE(report.findings.empty());
    EXPECT_EQ(report.findings[0].kind,
              throws ? backends::FindingKind::kRankError : backends::FindingKind::kDeadlock)
        << to_text(report);
  }
}

TEST(Poison, FillsOutputsThatAreNotInputsFromSubmitOn) {
  for (const Completion completion : {Completion::kEarly, Completion::kLate}) {
    spawn_ranks(2,
                [&](TestRank& r) {
                  const auto tp = r.connect(GroupKind::kTp);
                  const auto world = r.connect(GroupKind::kWorld);
                  const CollectiveCall barrier{.label = "test.barrier",
                                               .kind = CollectiveKind::kBarrier};
                  const Tensor input = r.tensor({1, 2, 3});
                  const Tensor output = r.tensor({0, 0, 0});
                  const CollectiveCall call = sum(input, output);
                  Ticket ticket;
                  if (r.rank.value == 0) {
                    ticket = tp->submit({&call, 1});
                    for (const double value : values_of(output)) EXPECT_TRUE(std::isnan(value));
                    EXPECT_EQ(values_of(input)[0], 1.0);
                  }
                  run_call(*world, barrier);
                  if (r.rank.value == 1) ticket = tp->submit({&call, 1});
                  ticket.source->wait(ticket.sequence, {}, "test.wait");
                  EXPECT_EQ(values_of(output), (std::vector<double>{2, 4, 6}));
                },
                {.completion = completion});
  }
}

TEST(Poison, OfIntegersIsHugeAndNegativeAndOfLargeOutputsReachesEachParametersStart) {
  constexpr std::int64_t kLarge = 100'001;
  spawn_ranks(2,
              [](TestRank& r) {
                const auto tp = r.connect(GroupKind::kTp);
                const Tensor integers_in = r.empty(2, DType::kI64);
                const Tensor integers = r.empty(2, DType::kI64);
                const Tensor large_in = r.empty(kLarge);
                const Tensor large = r.empty(kLarge);
                std::fill_n(integers_in.data<std::int64_t>(), 2, 5);
                std::fill_n(integers.data<std::int64_t>(), 2, 5);
                std::fill_n(large_in.data<double>(), kLarge, 5.0);
                std::fill_n(large.data<double>(), kLarge, 5.0);
                const std::vector<CollectiveCall> calls{{.label = "test.integers",
                                                         .kind = CollectiveKind::kAllReduce,
                                                         .input = integers_in.buffer(),
                                                         .output = integers.buffer()},
                                                        sum(large_in, large)};
                const Ticket ticket = tp->submit(calls);
                EXPECT_LT(integers.data<std::int64_t>()[1], -(std::int64_t{1} << 60));
                for (std::int64_t i = 0; i < kLarge; i += 64) {
                  ASSERT_TRUE(std::isnan(large.data<double>()[i])) << i;
                }
                EXPECT_TRUE(std::isnan(large.data<double>()[kLarge - 1]));
                ticket.source->wait(ticket.sequence, {}, "test.wait");
                EXPECT_EQ(integers.data<std::int64_t>()[1], 10);
                const std::vector<double> result = values_of(large);
                EXPECT_EQ(result, std::vector<double>(static_cast<std::size_t>(kLarge), 10.0));
              },
              {.completion = Completion::kLate});
}

// Larger than the caches: filled by other stores, which must not go beyond the output either.
TEST(Poison, OfHugeOutputsReachesEachParametersStartAndNothingBeyond) {
  static constexpr std::int64_t kHuge = 200'005;
  constexpr std::int64_t kBefore = 3;
  spawn_ranks(2,
              [](TestRank& r) {
                const auto tp = r.connect(GroupKind::kTp);
                const Tensor input = r.empty(kHuge);
                const Tensor around = r.empty(kBefore + kHuge + 1);
                std::fill_n(input.data<double>(), kHuge, 5.0);
                double* const output = around.data<double>() + kBefore;
                std::fill_n(around.data<double>(), kBefore + kHuge + 1, 5.0);
                CollectiveCall call = sum(input, around);
                call.output.offset = kBefore;
                call.output.count = kHuge;
                const Ticket ticket = tp->submit({&call, 1});
                for (std::int64_t i = 0; i < kHuge; i += 64) {
                  ASSERT_TRUE(std::isnan(output[i])) << i;
                }
                EXPECT_TRUE(std::isnan(output[kHuge - 1]));
                EXPECT_EQ(output[-1], 5.0);
                EXPECT_EQ(output[kHuge], 5.0);
                ticket.source->wait(ticket.sequence, {}, "test.wait");
                EXPECT_EQ(std::count(output, output + kHuge, 10.0), kHuge);
              },
              {.completion = Completion::kLate});
}

// Does everything but hold memory.
class DatalessDevice : public Device {
 public:
  Ticket launch(const Launch&) override { return {}; }
};

TEST(DevicesWithoutData, StillMatchEveryCall) {
  for (const Completion completion : {Completion::kEarly, Completion::kLate}) {
    for (const ReductionOrder order : {ReductionOrder::kRank, ReductionOrder::kRing}) {
      const ClusterReport report = spawn_ranks(
          3,
          [](TestRank& r) {
            DatalessDevice device;
            const auto tp = r.connect(GroupKind::kTp);
            Storage storage(device, 48, "test.storage");
            const Buffer whole{.storage = &storage, .count = 6};
            const Buffer third{.storage = &storage, .count = 2};
            const Buffer none;
            const auto run = [&](CollectiveKind kind, const Buffer& in, const Buffer& out) {
              run_call(*tp, {.label = "test.call", .kind = kind, .input = in, .output = out});
            };
            run(CollectiveKind::kAllReduce, whole, whole);
            run(CollectiveKind::kReduceScatter, whole, third);
            run(CollectiveKind::kAllGather, third, whole);
            run(CollectiveKind::kAllToAll, whole, whole);
            run(CollectiveKind::kBroadcast, whole, whole);
            const GroupRank self{r.rank.value};
            const std::vector<CollectiveCall> calls{{.label = "test.send",
                                                     .kind = CollectiveKind::kSend,
                                                     .input = whole,
                                                     .output = none,
                                                     .peer = self},
                                                    {.label = "test.recv",
                                                     .kind = CollectiveKind::kRecv,
                                                     .input = none,
                                                     .output = whole,
                                                     .peer = self}};
            const Ticket ticket = tp->submit(calls);
            ticket.source->wait(ticket.sequence, {}, "test.wait");
          },
          {.reduction_order = order, .completion = completion});
      EXPECT_TRUE(report.findings.empty()) << to_text(report);
      EXPECT_EQ(report.num_matched, 3 * 7);
    }
  }
}

TEST(Poison, SparesAnOutputThatIsTheInput) {
  spawn_ranks(2,
              [](TestRank& r) {
                const auto tp = r.connect(GroupKind::kTp);
                const Tensor values = r.tensor({1, 2});
                const CollectiveCall call = sum(values, values);
                const Ticket ticket = tp->submit({&call, 1});
                EXPECT_EQ(values_of(values), (std::vector<double>{1, 2}));
                ticket.source->wait(ticket.sequence, {}, "test.wait");
                EXPECT_EQ(values_of(values), (std::vector<double>{2, 4}));
              },
              {.completion = Completion::kLate});
}

}  // namespace
}  // namespace lockstep::test
