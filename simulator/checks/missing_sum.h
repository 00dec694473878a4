// Explains wrong gradients by a reduction that did not happen: their sum over a group is right.
#pragma once

#include <span>
#include <string>

#include "core/snapshot/shard.h"
#include "simulator/checks/block_error.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

// "sum over dp = reference: not summed there" where adding up, over each group of that axis, what
// its ranks hold of one tensor gives the reference within its bounds. Empty where no axis does, or
// where all of its ranks hold the same: that is a factor, which bounds of bf16 cannot tell from a
// sum that did not happen.
std::string missing_sum_hint(const TrialResult& trial,
                             std::span<const RankShard> shards,
                             const Yardstick& against);

}  // namespace lockstep::sim
