// A barrier lets nobody through before all have come.
#include <fmt/format.h>

#include <atomic>

#include "tests/backends/conformance/part.h"

namespace lockstep::test {

// Ranks share this process' memory, so that they can count who has come.
PartReport check_barrier(const TestedBackend& backend, int world) {
  constexpr int kRounds = 8;
  const std::vector<GroupKind> kinds = group_kinds_of_world(world);
  std::vector<std::atomic<int>> num_come(kinds.size() * kMaxWorld);  // by kind and index of group
  return run_part(backend, world, [&](TestRank& r, RankNotes& notes) {
    const auto communicators = connect_all(r, kinds);
    for (int round = 1; round <= kRounds; ++round) {
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (!communicators[i]) continue;
        const Group& group = communicators[i]->group();
        std::atomic<int>& come = num_come[i * kMaxWorld + static_cast<std::size_t>(group.index)];
        ++come;
        ++notes.num_calls;
        run_call(*communicators[i],
                 {.label = "conformance.barrier", .kind = CollectiveKind::kBarrier});
        const int seen = come;
        notes.check(
            seen >= round * group.size()
                ? ""
                : fmt::format(
                      "barrier {} on {} was left when {} had come", round, to_text(group), seen));
      }
    }
  });
}

}  // namespace lockstep::test
