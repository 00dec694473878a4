// An ordered set of ranks of the mesh.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"

namespace lockstep {

// The kinds of group that a mesh has (semantics, section 1.3): dense, then expert.
enum class GroupKind {
  kWorld,
  kTp,
  kCp,
  kDp,
  kDpCp,
  kPp,
  kTpCp,
  kTpDp,
  kTpDpCp,
  kModel,  // tp and pp
  kEmbedding,
  kPositionEmbedding,
  kEp,
  kEtp,
  kEdp,
  kTpEp,     // etp and ep
  kTpEpPp,   // etp, ep and pp
  kCpInner,  // neighbours in cp: of a2a+p2p those that exchange heads, each rank alone else
  kCpOuter,  // the ranks at one place of all inner groups: of a2a+p2p a ring
};
inline constexpr int kNumGroupKinds = 19;

std::string_view name_of(GroupKind kind);  // "tp", "dp_cp", "embd" ...

struct Group {
  GroupKind kind = GroupKind::kWorld;
  int index = 0;            // which of its kind, from 0
  std::vector<Rank> ranks;  // in the group's order, ascending

  int size() const { return static_cast<int>(ranks.size()); }
  std::optional<GroupRank> rank_of(Rank rank) const;
  bool operator==(const Group&) const = default;
};

std::string to_text(const Group& group);  // tp#1 {2, 3}

}  // namespace lockstep
