// What a shard holds, as stretches that are contiguous in the shard and in the full tensor alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/snapshot/shard.h"

namespace lockstep {

// Local flat elements [local, local + count) are full flat elements [full, full + count).
struct Stretch {
  std::int64_t local = 0;
  std::int64_t full = 0;
  std::int64_t count = 0;
};

// Empty where shapes, slices and values of the shard fit together, else what is wrong with them.
std::string shard_problem(const Shard& shard);

// The shard must be without problem. Ascending in the full tensor; neighbours are merged.
std::vector<Stretch> stretches_of(const Shard& shard);

// Gives values to full flat elements [full, full + local.size()).
using FillStretch = std::function<void(std::int64_t full, std::span<double> local)>;

// The inverse of assembling: sizes the values by the local shape and has each stretch filled; the
// others, padding, are zero. InternalError where shapes and slices do not fit together.
void fill_shard(Shard& shard, const FillStretch& fill);

// Elements of the full tensor.
std::int64_t num_full_elements(const Shard& shard);

// Whether both hold exactly the same elements of the full tensor, wherever they lie locally.
bool holds_same_elements(const Shard& a, const Shard& b);

}  // namespace lockstep
