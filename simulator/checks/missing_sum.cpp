// Adds up over each axis in turn, and holds the sums against the reference.
#include "simulator/checks/missing_sum.h"

#include <optional>

#include "core/comm/mesh.h"

namespace lockstep::sim {
namespace {

const Shard* shard_of(const std::vector<RankShard>& shards, Rank rank) {
  for (const RankShard& held : shards) {
    if (held.rank == rank) return held.shard;
  }
  return nullptr;
}

// What the members hold, added up element by element; none where they hold different elements.
std::optional<Shard> sum_over(const Group& group, const std::vector<RankShard>& shards) {
  std::optional<Shard> sum;
  for (const Rank rank : group.ranks) {
    const Shard* const shard = shard_of(shards, rank);
    if (shard == nullptr) return std::nullopt;
    if (!sum.has_value()) {
      sum = *shard;
      continue;
    }
    if (!(sum->slice == shard->slice) || sum->local_shape != shard->local_shape) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < shard->values.size(); ++i) sum->values[i] += shard->values[i];
  }
  return sum;
}

}  // namespace

std::string missing_sum_hint(const TrialResult& trial,
                             const std::vector<RankShard>& shards,
                             const OracleTensor& reference,
                             const BlockMeasure& measure,
                             double bound) {
  const Mesh mesh(trial.c.layout);
  for (const GroupKind kind : {GroupKind::kTp, GroupKind::kCp, GroupKind::kDp, GroupKind::kDpCp}) {
    bool right = mesh.groups(kind).front().size() > 1;
    for (const Group& group : mesh.groups(kind)) {
      if (!right) break;
      const std::optional<Shard> sum = sum_over(group, shards);
      right = sum.has_value() && measure.worst(deviations_of(*sum, reference)).error <= bound;
    }
    if (right) {
      return "sum over " + std::string(name_of(kind)) + " = reference: not summed there";
    }
  }
  return "";
}

}  // namespace lockstep::sim
