// How reports name ranks and what each of them is doing.
#pragma once

#include <span>
#include <string>

#include "backends/matching/channel.h"
#include "core/comm/mesh.h"

namespace lockstep::backends {

// Reports tell of this many ranks in full, then a count.
inline constexpr std::size_t kMaxTold = 16;

struct RankTexts {
  const Mesh& mesh;
  const LedgerState& state;

  const RankState& state_of(Rank rank) const {
    return state.ranks[static_cast<std::size_t>(rank.value)];
  }
  std::string name(Rank rank) const;                     // rank 1 (tp 1, dp 0)
  std::string names(std::span<const Rank> ranks) const;  // ... , ... and 5 more ranks
  std::string doing(Rank rank) const;                    // waits in 'x' for all_reduce 'y' on tp#0
  std::string last_label(Rank rank) const;               // y, or empty before its first call
  std::string last_call(Rank rank) const;                // its last call was all_reduce 'y' on tp#0
  std::string waited_call(const Link& link) const;       // all_reduce 'y' on tp#0 {0, 1}
};

// Returned, threw, was lost or has stalled: it will come to no meeting any more.
bool is_gone(RankStatus status);

// The first meeting of the waited ticket that cannot complete yet; null of a rank that does not
// wait.
const Link* blocking_link(const RankState& rank);

// Parties that keep the meeting from completing: not arrived, or gone without waiting.
std::vector<Rank> missing_ranks(const LedgerState& state, const Meeting& meeting);

}  // namespace lockstep::backends
