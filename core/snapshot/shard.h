// One rank's part of a logical tensor: which of its global indices it holds, and the values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"

namespace lockstep {

// Local indices [local, local + count) of the cut dim are global ones [global, global + count).
struct ShardRun {
  std::int64_t local = 0;
  std::int64_t global = 0;
  std::int64_t count = 0;
  bool operator==(const ShardRun&) const = default;
};

// How a dim is cut: in runs, so that gate/up halves, interleaved q/k/v, zigzag chunks of a sequence
// and padded vocabulary rows (local indices in no run) are all the same thing. Runs are in any
// order.
struct ShardSlice {
  int dim = 0;
  std::vector<ShardRun> runs = {};
  bool operator==(const ShardSlice&) const = default;
};

struct Shard {
  std::string name = {};
  std::vector<std::int64_t> full_shape = {};
  std::vector<std::int64_t> local_shape = {};
  std::vector<ShardSlice> slices = {};  // of cut dims, ascending; none: the whole tensor
  std::vector<double> values = {};      // local, row-major
};

// A shard and who holds it. The shard must outlive this.
struct RankShard {
  Rank rank;
  const Shard* shard = nullptr;
};

}  // namespace lockstep
