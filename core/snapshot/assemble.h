// Puts the shards of all ranks together to the full tensor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/snapshot/shard.h"

namespace lockstep {

struct Assembly {
  std::string problem;         // that of the dealing (dealing.h)
  std::vector<double> values;  // full, row-major; of the first holder of each element
};

// Shards may overlap (replicas, shared heads): the first given supplies the value. Padded local
// indices, which lie in no run, are left out. With a problem in a shard's shapes no values are
// given; with a hole, the values are 0 there.
Assembly assemble(std::span<const RankShard> shards);

}  // namespace lockstep
