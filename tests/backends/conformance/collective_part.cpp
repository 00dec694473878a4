// Every collective and message by values: dtypes, ops, sizes, placements and groups.
#include <fmt/format.h>

#include "tests/backends/conformance/covering.h"
#include "tests/backends/conformance/part.h"
#include "tests/backends/conformance/prepared_call.h"

namespace lockstep::test {
namespace {

struct GroupCase {
  CallCase call;
  std::size_t group;  // of group_kinds_of_world
};

// Only what the backend says it can do.
std::vector<GroupCase> cases_of(CollectiveKind kind, const TestedBackend& backend, int world) {
  constexpr int kFirstThinned = 4;
  const std::vector<Capability> capabilities = capabilities_of(backend);
  std::vector<int> sizes = num_values(factors_of(kind));
  sizes.push_back(static_cast<int>(group_kinds_of_world(world).size()));
  const bool thin = backend.coverage == Coverage::kThinnedBy4 && world >= kFirstThinned;
  std::vector<GroupCase> cases;
  for (const Combination& values : thin ? pairwise_combinations(sizes) : all_combinations(sizes)) {
    const GroupCase next{.call = case_of(kind, values, 1 + cases.size()),
                         .group = static_cast<std::size_t>(values.back())};
    if (can_do(capabilities, next.call.type)) cases.push_back(next);
  }
  return cases;
}

using RunCase = std::function<void(TestRank&, Communicator&, const CallCase&, RankNotes&)>;

PartReport check_cases(CollectiveKind kind,
                       const TestedBackend& backend,
                       int world,
                       const RunCase& run_case) {
  const std::vector<GroupCase> cases = cases_of(kind, backend, world);
  return run_part(backend, world, [&](TestRank& r, RankNotes& notes) {
    const auto communicators = connect_all(r, group_kinds_of_world(world));
    for (const GroupCase& next : cases) {
      if (communicators[next.group]) run_case(r, *communicators[next.group], next.call, notes);
    }
  });
}

void run_all(Communicator& communicator,
             const std::vector<PreparedCall>& prepared,
             RankNotes& notes) {
  notes.num_calls += std::ssize(prepared);
  notes.num_checks += std::ssize(prepared);
  for (const std::string& complaint : run_prepared(communicator, prepared)) {
    notes.complaints.push_back(complaint);
  }
}

// Around a ring, to the next and from the one before, itself in a group of one.
void run_ring(TestRank& r, Communicator& communicator, const CallCase& send, RankNotes& notes) {
  const GroupRank me = rank_in(communicator, r.rank);
  const int size = communicator.group().size();
  CallCase recv = send;
  recv.type.kind = CollectiveKind::kRecv;
  std::vector<PreparedCall> prepared;
  prepared.emplace_back(r, send, Seat{communicator.group(), me, GroupRank{(me.value + 1) % size}});
  prepared.emplace_back(
      r, recv, Seat{communicator.group(), me, GroupRank{(me.value + size - 1) % size}});
  run_all(communicator, prepared, notes);
}

}  // namespace

PartReport check_collective(CollectiveKind kind, const TestedBackend& backend, int world) {
  return check_cases(
      kind,
      backend,
      world,
      [](TestRank& r, Communicator& communicator, const CallCase& call, RankNotes& notes) {
        std::vector<PreparedCall> prepared;
        prepared.emplace_back(r, call, Seat{communicator.group(), rank_in(communicator, r.rank)});
        run_all(communicator, prepared, notes);
      });
}

PartReport check_messages(const TestedBackend& backend, int world) {
  return check_cases(CollectiveKind::kSend, backend, world, run_ring);
}

}  // namespace lockstep::test
