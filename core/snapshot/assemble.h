// Puts the shards of all ranks together to the full tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/snapshot/shard.h"

namespace lockstep {

// A shard and who holds it. The shard must outlive this.
struct RankShard {
  Rank rank;
  const Shard* shard = nullptr;
};

struct Assembly {
  std::string problem;         // empty: every element is covered and all shards fit together
  std::vector<double> values;  // full, row-major; of the first holder of each element
  // By element: which of the shards given supplied it, -1 where none holds it.
  std::vector<std::int32_t> supplier;
};

// Shards may overlap (replicas, shared heads): the first given supplies the value. Padded local
// indices, which lie in no run, are left out. With a problem in a shard's shapes no values are
// given; with a hole, the values are 0 there.
Assembly assemble(std::span<const RankShard> shards);

}  // namespace lockstep
