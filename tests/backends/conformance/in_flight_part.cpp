// Many calls under way at once: several communicators, several calls of one submit, messages both
// ways, waited for in other orders than submitted.
#include <algorithm>
#include <memory>

#include "core/base/random.h"
#include "core/comm/call_rules.h"
#include "tests/backends/conformance/part.h"
#include "tests/backends/conformance/prepared_call.h"

namespace lockstep::test {
namespace {

// A call, or several of one submit, and the ticket to wait for. On the heap: calls refer to it.
struct Flight {
  std::vector<PreparedCall> prepared;
  Ticket ticket;
};
using Flights = std::vector<std::unique_ptr<Flight>>;

class Flyer {
 public:
  Flyer(TestRank& rank, RankNotes& notes, const std::vector<Capability>& capabilities)
      : rank_(rank), notes_(notes), capabilities_(capabilities) {}

  // A case of the kind, drawn by `seed`, as all members draw it: one that the backend can do.
  CallCase draw(CollectiveKind kind, std::uint64_t seed) const {
    const std::vector<int> sizes = num_values(factors_of(kind));
    for (std::uint64_t trial = 0;; ++trial) {
      std::vector<int> values;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::uint64_t bits = random_bits(seed, trial, i);
        values.push_back(static_cast<int>(bits % static_cast<std::uint64_t>(sizes[i])));
      }
      const CallCase call = case_of(kind, values, seed);
      if (can_do(capabilities_, call.type)) return call;
    }
  }

  void add(Flight& flight, Communicator& communicator, CallCase call, GroupRank peer = {}) const {
    const GroupRank me = rank_in(communicator, rank_.rank);
    flight.prepared.emplace_back(rank_, call, Seat{communicator.group(), me, peer});
  }

  void submit(Communicator& communicator, std::unique_ptr<Flight> flight) {
    std::vector<CollectiveCall> calls;
    for (const PreparedCall& each : flight->prepared) calls.push_back(each.call());
    notes_.num_calls += std::ssize(calls);
    flight->ticket = communicator.submit(calls);
    flights_.push_back(std::move(flight));
  }

  // Waits for all, the last first or in an order of this rank's own; compares as each completes.
  void land(std::uint64_t shuffle) {
    while (!flights_.empty()) {
      const std::uint64_t bits =
          random_bits(shuffle, static_cast<std::uint64_t>(rank_.rank.value), flights_.size());
      const std::size_t chosen = shuffle == 0 ? flights_.size() - 1 : bits % flights_.size();
      const std::unique_ptr<Flight> flight = std::move(flights_[chosen]);
      flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(chosen));
      flight->ticket.source->wait(flight->ticket.sequence, {}, "conformance.in_flight");
      for (const PreparedCall& each : flight->prepared) notes_.check(each.complaint());
    }
  }

 private:
  TestRank& rank_;
  RankNotes& notes_;
  const std::vector<Capability>& capabilities_;
  Flights flights_;
};

constexpr CollectiveKind kCollectives[] = {CollectiveKind::kAllReduce,
                                           CollectiveKind::kReduceScatter,
                                           CollectiveKind::kAllGather,
                                           CollectiveKind::kAllToAll,
                                           CollectiveKind::kBroadcast};

CollectiveKind draw_kind(std::uint64_t seed) {
  return kCollectives[random_bits(seed, 7, 0) % std::size(kCollectives)];
}

// Three calls on each communicator; every other rank turns to the communicators the other way
// round.
void fly_on_all(TestRank& r,
                Flyer& flyer,
                const std::vector<Communicator*>& communicators,
                std::uint64_t first_seed) {
  const std::size_t num = communicators.size();
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < num; ++i) {
      const std::size_t which = r.rank.value % 2 == 0 ? i : num - 1 - i;
      if (communicators[which] == nullptr) continue;
      const std::uint64_t seed = first_seed + 10 * which + round;
      auto flight = std::make_unique<Flight>();
      flyer.add(*flight, *communicators[which], flyer.draw(draw_kind(seed), seed));
      flyer.submit(*communicators[which], std::move(flight));
    }
  }
}

// One submit of collectives and messages, in which the sender of one is the receiver of another.
void fly_grouped(TestRank& r, Flyer& flyer, Communicator* communicator) {
  if (communicator == nullptr) return;
  const int me = rank_in(*communicator, r.rank).value;
  const int size = communicator->group().size();
  CallCase message = flyer.draw(CollectiveKind::kSend, 2000);
  auto flight = std::make_unique<Flight>();
  flyer.add(*flight, *communicator, flyer.draw(CollectiveKind::kAllReduce, 2001));
  flyer.add(*flight, *communicator, message, {(me + 1) % size});
  flyer.add(*flight, *communicator, flyer.draw(CollectiveKind::kAllToAll, 2002));
  message.type.kind = CollectiveKind::kRecv;
  flyer.add(*flight, *communicator, message, {(me + size - 1) % size});
  flyer.submit(*communicator, std::move(flight));
}

// Neighbours 0 and 1, 2 and 3 ... send each other five messages and only then receive, with
// collectives of all in between.
void fly_both_ways(TestRank& r, Flyer& flyer, Communicator& world) {
  const int me = rank_in(world, r.rank).value;
  const int other = me % 2 == 0 ? me + 1 : me - 1;
  for (const bool sends : {true, false}) {
    for (std::uint64_t i = 0; i < 5 && other < world.group().size(); ++i) {
      const int from = sends ? me : other;
      CallCase message =
          flyer.draw(CollectiveKind::kSend, 3000 + 10 * i + static_cast<std::uint64_t>(from % 2));
      message.type.kind = sends ? CollectiveKind::kSend : CollectiveKind::kRecv;
      auto flight = std::make_unique<Flight>();
      flyer.add(*flight, world, message, {other});
      flyer.submit(world, std::move(flight));
    }
    auto between = std::make_unique<Flight>();
    flyer.add(*between, world, flyer.draw(CollectiveKind::kAllGather, sends ? 3100 : 3101));
    flyer.submit(world, std::move(between));
  }
}

}  // namespace

PartReport check_in_flight(const TestedBackend& backend, int world) {
  const std::vector<Capability> capabilities = capabilities_of(backend);
  return run_part(backend, world, [&](TestRank& r, RankNotes& notes) {
    const auto owned = connect_all(r, group_kinds_of_world(world));
    const auto second = r.connect(GroupKind::kWorld);
    std::vector<Communicator*> communicators;
    for (const auto& each : owned) communicators.push_back(each.get());
    communicators.push_back(second.get());
    Flyer flyer(r, notes, capabilities);
    for (const std::uint64_t shuffle : {0, 1, 2}) {
      fly_on_all(r, flyer, communicators, 1000 + 100 * shuffle);
      flyer.land(shuffle);
      fly_grouped(r, flyer, second.get());
      fly_both_ways(r, flyer, *second);
      fly_grouped(r, flyer, owned.back().get());
      flyer.land(shuffle);
    }
  });
}

}  // namespace lockstep::test
