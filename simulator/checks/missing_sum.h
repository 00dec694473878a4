// Explains wrong gradients by a reduction that did not happen: their sum over a group is right.
#pragma once

#include <string>
#include <vector>

#include "core/snapshot/assemble.h"
#include "simulator/checks/block_error.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

// "sum over dp = reference: not summed there" where adding up, over each group of that axis, what
// its ranks hold of one tensor gives the reference within the bound. Empty where no axis does.
std::string missing_sum_hint(const TrialResult& trial,
                             const std::vector<RankShard>& shards,
                             const OracleTensor& reference,
                             const BlockMeasure& measure,
                             double bound);

}  // namespace lockstep::sim
