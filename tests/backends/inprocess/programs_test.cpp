// Random programs of collectives give the same bits whatever the schedule, host and completion.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using sim::ClusterOptions;
using sim::ClusterReport;
using sim::RankHost;

// Draws of one program, the same on every rank.
struct Draws {
  std::uint64_t program;
  std::uint64_t index = 0;
  int below(int limit) {
    return static_cast<int>(random_bits(program, 17, index++) % static_cast<std::uint64_t>(limit));
  }
};

// A call in flight, with what it needs alive.
struct Flight {
  Ticket ticket;
  Tensor input;
  Tensor output;
};

constexpr GroupKind kKinds[] = {GroupKind::kTp, GroupKind::kDp, GroupKind::kTpDp};

Flight start_call(TestRank& r, Communicator& communicator, Draws& draws) {
  constexpr CollectiveKind kCollectives[] = {CollectiveKind::kAllReduce,
                                             CollectiveKind::kReduceScatter,
                                             CollectiveKind::kAllGather,
                                             CollectiveKind::kAllToAll,
                                             CollectiveKind::kBroadcast};
  const CollectiveKind kind = kCollectives[draws.below(5)];
  const int size = communicator.group().size();
  const std::int64_t part = draws.below(9);
  const std::int64_t whole = part * size;
  const GroupRank root{draws.below(size)};
  const ReduceOp op = draws.below(4) == 0 ? ReduceOp::kMax : ReduceOp::kSum;
  const bool in_place = kind == CollectiveKind::kAllReduce && draws.below(2) == 0;
  const std::int64_t sent = kind == CollectiveKind::kAllGather ? part : whole;
  const std::int64_t received = kind == CollectiveKind::kReduceScatter ? part : whole;
  Flight flight{.ticket = {}, .input = r.empty(sent), .output = {}};
  for (std::int64_t i = 0; i < sent; ++i) {
    flight.input.data<double>()[i] = random_signed(draws.program + draws.index,
                                                   static_cast<std::uint64_t>(r.rank.value),
                                                   static_cast<std::uint64_t>(i));
  }
  flight.output = in_place ? flight.input : r.empty(received);
  const CollectiveCall call{.label = "test.random",
                            .kind = kind,
                            .input = flight.input.buffer(),
                            .output = flight.output.buffer(),
                            .op = op,
                            .peer = root};
  flight.ticket = communicator.submit({&call, 1});
  return flight;
}

void finish_call(Flight& flight, Digest& digest) {
  flight.ticket.source->wait(flight.ticket.sequence, {}, "test.wait");
  digest.add(values_of(flight.output));
}

std::vector<std::uint64_t> digests_of(std::uint64_t program, const ClusterOptions& options) {
  std::vector<std::uint64_t> digests(6);
  const ClusterReport report = spawn_ranks(
      layout_of({.tp = 2, .dp = 3}),
      [&](TestRank& r) {
        std::vector<std::unique_ptr<Communicator>> communicators;
        for (const GroupKind kind : kKinds) communicators.push_back(r.connect(kind));
        Draws draws{program};
        Digest digest;
        std::vector<Flight> flights;
        for (int i = 0; i < 12; ++i) {
          const auto which = static_cast<std::size_t>(draws.below(3));
          flights.push_back(start_call(r, *communicators[which], draws));
          while (flights.size() > 3 || (!flights.empty() && draws.below(2) == 0)) {
            const auto last = static_cast<int>(flights.size());
            const auto chosen = flights.begin() + draws.below(last);
            finish_call(*chosen, digest);
            flights.erase(chosen);
          }
        }
        for (Flight& flight : flights) finish_call(flight, digest);
        digests[static_cast<std::size_t>(r.rank.value)] = digest.value();
      },
      options);
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  EXPECT_EQ(report.num_calls, report.num_matched);
  return digests;
}

constexpr ReductionOrder kOrders[] = {
    ReductionOrder::kRank, ReductionOrder::kRing, ReductionOrder::kTree};
constexpr Completion kCompletions[] = {Completion::kEarly, Completion::kLate, Completion::kSeeded};

TEST(RandomPrograms, GiveTheSameBitsUnderAnyScheduleAndCompletion) {
  for (std::uint64_t program = 0; program < 1000; ++program) {
    const ReductionOrder order = kOrders[program % 3];
    const auto plain = digests_of(program, {.reduction_order = order});
    const auto scheduled = digests_of(program,
                                      {.reduction_order = order,
                                       .completion = kCompletions[program / 3 % 3],
                                       .schedule_seed = program + 1});
    ASSERT_EQ(plain, scheduled) << "program " << program;
  }
}

TEST(RandomPrograms, GiveTheSameBitsOnThreads) {
  for (std::uint64_t program = 0; program < 60; ++program) {
    for (const Completion completion : kCompletions) {
      const ReductionOrder order =
          program % 2 == 0 ? ReductionOrder::kShuffled : ReductionOrder::kRing;
      const auto fibers = digests_of(program, {.reduction_order = order, .schedule_seed = program});
      const auto threads = digests_of(program,
                                      {.host = RankHost::kThreads,
                                       .reduction_order = order,
                                       .completion = completion,
                                       .schedule_seed = program});
      ASSERT_EQ(fibers, threads) << "program " << program;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
