// Adds up over each axis in turn, and holds the sums against the reference.
#include "simulator/checks/missing_sum.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/comm/mesh.h"

namespace lockstep::sim {
namespace {

const Shard* shard_of(std::span<const RankShard> shards, Rank rank) {
  for (const RankShard& held : shards) {
    if (held.rank == rank) return held.shard;
  }
  return nullptr;
}

// What the members hold, added up element by element; none where they hold different elements.
std::optional<Shard> sum_over(const Group& group, std::span<const RankShard> shards) {
  std::optional<Shard> sum;
  for (const Rank rank : group.ranks) {
    const Shard* const shard = shard_of(shards, rank);
    if (shard == nullptr) return std::nullopt;
    if (!sum.has_value()) {
      sum = *shard;
      continue;
    }
    if (sum->slices != shard->slices || sum->local_shape != shard->local_shape) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < shard->values.size(); ++i) sum->values[i] += shard->values[i];
  }
  return sum;
}

bool holds_any(const Group& group, std::span<const RankShard> shards) {
  return std::any_of(group.ranks.begin(), group.ranks.end(), [&](Rank rank) {
    return shard_of(shards, rank) != nullptr;
  });
}

// Whether all members hold the same: then nothing is known of terms, and a sum of them is right
// where each is too small by the group's size, as after a mean.
bool holds_copies(const Group& group, std::span<const RankShard> shards) {
  const Shard* const first = shard_of(shards, group.ranks.front());
  return std::all_of(group.ranks.begin(), group.ranks.end(), [&](Rank rank) {
    const Shard* const own = shard_of(shards, rank);
    return first != nullptr && own != nullptr && own->values == first->values;
  });
}

// Whether what each group that holds the tensor has of it adds up to the reference, in terms.
bool adds_up(const std::vector<Group>& groups,
             std::span<const RankShard> shards,
             const Yardstick& against) {
  if (groups.front().size() == 1) return false;
  bool has_terms = false;
  const bool is_right = std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
    // A micro-batch is one dp rank's: the groups of others have no part in it.
    if (!holds_any(group, shards)) return true;
    has_terms = has_terms || !holds_copies(group, shards);
    const std::optional<Shard> sum = sum_over(group, shards);
    return sum.has_value() && against.worst(deviations_of(*sum, against.reference)).holds();
  });
  return is_right && has_terms;
}

}  // namespace

std::string missing_sum_hint(const TrialResult& trial,
                             std::span<const RankShard> shards,
                             const Yardstick& against) {
  const Mesh mesh(trial.c.layout);
  for (const GroupKind kind : {GroupKind::kTp, GroupKind::kCp, GroupKind::kDp, GroupKind::kDpCp}) {
    if (adds_up(mesh.groups(kind), shards, against)) {
      return "sum over " + std::string(name_of(kind)) + " = reference: not summed there";
    }
  }
  return "";
}

}  // namespace lockstep::sim
