// Groups: membership and how messages show them.
#include "core/comm/group.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {

std::string_view name_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::kWorld:
      return "world";
    case GroupKind::kTp:
      return "tp";
    case GroupKind::kCp:
      return "cp";
    case GroupKind::kDp:
      return "dp";
    case GroupKind::kDpCp:
      return "dp_cp";
    case GroupKind::kPp:
      return "pp";
    case GroupKind::kTpCp:
      return "tp_cp";
    case GroupKind::kTpDp:
      return "tp_dp";
    case GroupKind::kTpDpCp:
      return "tp_dp_cp";
    case GroupKind::kModel:
      return "mp";
    case GroupKind::kEmbedding:
      return "embd";
    case GroupKind::kPositionEmbedding:
      return "pos_embd";
    case GroupKind::kEp:
      return "ep";
    case GroupKind::kEtp:
      return "etp";
    case GroupKind::kEdp:
      return "edp";
    case GroupKind::kTpEp:
      return "tp_ep";
    case GroupKind::kTpEpPp:
      return "tp_ep_pp";
    case GroupKind::kCpInner:
      return "cp_inner";
    case GroupKind::kCpOuter:
      return "cp_outer";
  }
  throw InternalError("unknown kind of group");
}

std::optional<GroupRank> Group::rank_of(Rank rank) const {
  const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end() || *found != rank) return std::nullopt;
  return GroupRank{static_cast<int>(found - ranks.begin())};
}

std::string to_text(const Group& group) {
  constexpr std::size_t kShown = 16;
  std::string text = std::string(name_of(group.kind)) + "#" + std::to_string(group.index) + " {";
  for (std::size_t i = 0; i < group.ranks.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(group.ranks[i].value);
  }
  return text + (group.ranks.size() > kShown ? ", ...}" : "}");
}

}  // namespace lockstep
