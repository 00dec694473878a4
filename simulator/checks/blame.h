// Says of a tensor that is wrong whose part is, and what explains it.
#pragma once

#include <span>

#include "core/snapshot/shard.h"
#include "simulator/checks/block_error.h"
#include "simulator/checks/check_result.h"
#include "simulator/checks/hint.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

// Fills in the place's ranks, whose own part is wrong, and the hint that explains all of them.
void blame(const TrialResult& trial,
           std::span<const RankShard> shards,
           const Yardstick& against,
           std::span<const NamedSize> sizes,
           const HintTolerance& tolerance,
           Place& place);

}  // namespace lockstep::sim
