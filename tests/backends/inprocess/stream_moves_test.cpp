// What an exchange asks of a mover with streams, as a GPU's: moves of one list that need no order,
// streams that their ranks have shown, and nothing left over from a moment that failed.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/inprocess/rendezvous.h"
#include "core/base/random.h"
#include "core/tensor/cpu_device.h"
#include "simulator/runtime/rank_runner.h"
#include "tests/backends/inprocess/strict_mover.h"
#include "tests/support/message_calls.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using backends::Mover;
using backends::Rendezvous;

using Program = std::function<void(TestRank&)>;

// As a cluster runs ranks on the CPU, over this mover. The errors of ranks.
std::vector<std::string> run_over(Mover& mover,
                                  int num_ranks,
                                  const backends::RendezvousOptions& options,
                                  const Program& program) {
  const Mesh mesh(layout_of({.tp = num_ranks}));
  const auto runner = sim::make_fiber_runner(options.schedule_seed);
  Rendezvous rendezvous(mesh, options, *runner, mover);
  std::vector<std::string> errors;
  const auto body = [&](Rank rank) {
    CpuDevice device;
    TestRank seat{.rank = rank, .transport = rendezvous, .device = device, .mesh = mesh};
    try {
      program(seat);
      rendezvous.rank_returned(rank);
    } catch (const RankCancelled&) {
      rendezvous.rank_cancelled(rank);
    } catch (const std::exception& error) {
      errors.emplace_back(error.what());
      rendezvous.rank_threw(rank, error.what());
    }
  };
  runner->run(num_ranks, {.body = body, .all_wait = [&] { rendezvous.all_wait(); }});
  return errors;
}

// What the ranks hold after each round, rank by rank.
using Held = std::vector<std::vector<double>>;

// Each round a submit of one to three calls whose ends lie anywhere in one storage of the rank, so
// that they overlap in every way, on drawn streams; then a message to itself. Only what was asked
// for is looked at: the outputs, and what no call wrote.
class AnyPlaces {
 public:
  static constexpr std::int64_t kPart = 3;

  AnyPlaces(TestRank& rank, int num_ranks, std::uint64_t seed, std::vector<double>& held)
      : rank_(rank), size_(num_ranks), seed_(seed), held_(held) {}

  void run() {
    constexpr int kRounds = 40;
    const auto tp = rank_.connect(GroupKind::kTp);
    for (int round = 0; round < kRounds; ++round) play(*tp, round);
  }

 private:
  std::int64_t draw(int round, std::uint64_t what, std::int64_t below, bool of_rank = true) const {
    const auto rank = static_cast<std::uint64_t>(of_rank ? 1 + rank_.rank.value : 0);
    const std::uint64_t bits =
        random_bits(seed_, 100 * rank + what, static_cast<std::uint64_t>(round)) >> 8;
    return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(below));
  }

  std::int64_t room() const { return 4 * size_ * kPart; }

  Buffer place(const Tensor& memory, int round, std::uint64_t what, std::int64_t count) const {
    Buffer buffer = memory.buffer();
    buffer.offset = draw(round, what, room() - count + 1);
    buffer.count = count;
    return buffer;
  }

  // The same kind on all ranks. An input that may be its output is so half of the time.
  CollectiveCall call_of(const Tensor& memory, int round, std::uint64_t number) const {
    constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce,
                                         CollectiveKind::kReduceScatter,
                                         CollectiveKind::kAllGather,
                                         CollectiveKind::kAllToAll,
                                         CollectiveKind::kBroadcast};
    const std::int64_t all = size_ * kPart;
    const std::uint64_t base = 10 * (number + 1);
    CollectiveCall call{.label = "test.call",
                        .kind = kKinds[draw(round, base, std::ssize(kKinds), false)],
                        .stream = Stream{static_cast<int>(draw(round, base + 1, 3))}};
    const std::int64_t num_in = call.kind == CollectiveKind::kAllGather ? kPart : all;
    const std::int64_t num_out = call.kind == CollectiveKind::kReduceScatter ? kPart : all;
    if (call.kind == CollectiveKind::kBroadcast) {
      call.peer = GroupRank{static_cast<int>(draw(round, base + 2, size_, false))};
    }
    call.input = place(memory, round, base + 3, num_in);
    call.output = place(memory, round, base + 4, num_out);
    if (num_in == num_out && draw(round, base + 5, 2) == 0) call.output = call.input;
    return call;
  }

  void play(Communicator& tp, int round) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < room(); ++i) {
      values.push_back(
          static_cast<double>(1 + draw(round, 1000 + static_cast<std::uint64_t>(i), 9)));
    }
    const Tensor memory = rank_.tensor(values);
    const bool sends_to_itself = draw(round, 1, 3, false) == 0;
    const std::int64_t num_calls = sends_to_itself ? 2 : 1 + draw(round, 2, 3, false);
    std::vector<CollectiveCall> calls;
    for (std::int64_t i = 0; i < num_calls; ++i) {
      calls.push_back(call_of(memory, round, static_cast<std::uint64_t>(i)));
    }
    if (sends_to_itself) {
      const GroupRank me{rank_.rank.value};
      calls[0] = {.label = "test.send", .kind = CollectiveKind::kSend, .peer = me};
      calls[0].input = place(memory, round, 5, kPart);
      calls[1] = {.label = "test.receive", .kind = CollectiveKind::kRecv, .peer = me};
      calls[1].output = place(memory, round, 6, kPart);
    }
    const Ticket ticket = tp.submit(calls);
    const Stream waits{static_cast<int>(draw(round, 3, 4))};
    ticket.source->wait(ticket.sequence, waits, "test.wait");
    for (const double value : values_of(memory)) held_.push_back(value != value ? -1.0 : value);
  }

  TestRank& rank_;
  std::int64_t size_;
  std::uint64_t seed_;
  std::vector<double>& held_;
};

Held play_over(Mover& mover,
               int num_ranks,
               std::uint64_t seed,
               const backends::RendezvousOptions& options) {
  Held held(static_cast<std::size_t>(num_ranks));
  const auto errors = run_over(mover, num_ranks, options, [&](TestRank& rank) {
    AnyPlaces(rank, num_ranks, seed, held[static_cast<std::size_t>(rank.rank.value)]).run();
  });
  EXPECT_EQ(errors, std::vector<std::string>{});
  return held;
}

TEST(StreamMoves, NeedNoOrderWithinAListAndGiveWhatTheHostsLoopsGive) {
  for (const Completion completion : {Completion::kEarly, Completion::kLate, Completion::kSeeded}) {
    for (const ReductionOrder order : {ReductionOrder::kRank,
                                       ReductionOrder::kRing,
                                       ReductionOrder::kTree,
                                       ReductionOrder::kShuffled}) {
      for (const int num_ranks : {1, 2, 3, 5}) {
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
          const backends::RendezvousOptions options{
              .reduction_order = order, .completion = completion, .schedule_seed = seed};
          const auto host = backends::make_host_mover();
          StrictMover strict;
          const Held wanted = play_over(*host, num_ranks, seed, options);
          ASSERT_EQ(play_over(strict, num_ranks, seed, options), wanted)
              << "completion " << static_cast<int>(completion) << ", order "
              << static_cast<int>(order) << ", " << num_ranks << " ranks, seed " << seed;
          EXPECT_EQ(strict.complaints(), std::set<std::string>{});
          EXPECT_GT(strict.num_copies(), 0);
        }
      }
    }
  }
}

// Two ranks of three fail to gather; what they had listed must not be copied by the third's next
// exchange, when that memory is gone.
TEST(StreamMoves, OfAMomentThatFailedAreNotMadeLater) {
  StrictMover mover;
  std::int64_t num_of_last = 0;
  const auto errors = run_over(mover, 3, {}, [&](TestRank& rank) {
    const auto tp = rank.connect(GroupKind::kTp);
    const Tensor mine = rank.tensor({1.0});
    if (rank.rank.value == 2) {
      const Tensor all = rank.empty(3);
      mover.fail_once();
      EXPECT_THROW(run_call(*tp,
                            {.label = "test.gather",
                             .kind = CollectiveKind::kAllGather,
                             .input = mine.buffer(),
                             .output = all.buffer()}),
                   std::runtime_error);
      const std::int64_t before = mover.num_copies();
      const Tensor to = rank.empty(1);
      wait(tp->submit(std::vector{send(mine, 2), receive(to, 2)}));
      num_of_last = mover.num_copies() - before;
      EXPECT_EQ(values_of(to), std::vector<double>{1.0});
      return;
    }
    const Tensor all = rank.empty(3);
    run_call(*tp,
             {.label = "test.gather",
              .kind = CollectiveKind::kAllGather,
              .input = mine.buffer(),
              .output = all.buffer()});
  });
  EXPECT_EQ(num_of_last, 1) << "the message alone";
}

}  // namespace
}  // namespace lockstep::test
