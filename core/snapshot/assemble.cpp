// Copies each shard's stretches to where nobody has been before.
#include "core/snapshot/assemble.h"

#include <algorithm>

#include "core/snapshot/stretches.h"

namespace lockstep {
namespace {

std::string rank_text(Rank rank) { return "rank " + std::to_string(rank.value); }

std::string shapes_problem(std::span<const RankShard> shards) {
  if (shards.empty()) return "no rank holds it";
  for (const RankShard& held : shards) {
    const std::string problem = shard_problem(*held.shard);
    if (!problem.empty()) return rank_text(held.rank) + ": " + problem;
    if (held.shard->full_shape != shards.front().shard->full_shape) {
      return rank_text(held.rank) + " has another full shape than " +
             rank_text(shards.front().rank);
    }
  }
  return "";
}

void supply(const Shard& shard, std::int32_t supplier, Assembly& assembly) {
  for (const Stretch& stretch : stretches_of(shard)) {
    const double* source = shard.values.data() + stretch.local;
    double* target = assembly.values.data() + stretch.full;
    std::int32_t* owner = assembly.supplier.data() + stretch.full;
    for (std::int64_t i = 0; i < stretch.count; ++i) {
      if (owner[i] >= 0) continue;
      owner[i] = supplier;
      target[i] = source[i];
    }
  }
}

}  // namespace

Assembly assemble(std::span<const RankShard> shards) {
  Assembly assembly;
  assembly.problem = shapes_problem(shards);
  if (!assembly.problem.empty()) return assembly;
  const auto num_elements = static_cast<std::size_t>(num_full_elements(*shards.front().shard));
  assembly.values.assign(num_elements, 0.0);
  assembly.supplier.assign(num_elements, -1);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    // A replica of what has been supplied adds nothing.
    if (i > 0 && shards[i].shard->slice == shards[i - 1].shard->slice) continue;
    supply(*shards[i].shard, static_cast<std::int32_t>(i), assembly);
  }
  const auto hole = std::find(assembly.supplier.begin(), assembly.supplier.end(), -1);
  if (hole != assembly.supplier.end()) {
    const auto holes = std::count(hole, assembly.supplier.end(), -1);
    assembly.problem = "no rank holds " + std::to_string(holes) +
                       " of its elements, the first is " +
                       std::to_string(hole - assembly.supplier.begin());
  }
  return assembly;
}

}  // namespace lockstep
