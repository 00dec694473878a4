// What one rank observed of a trial: losses, finalised gradients, updated parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "core/snapshot/shard.h"

namespace lockstep {

struct MicroBatchLoss {
  std::int64_t global_micro_batch = 0;
  double loss = 0.0;         // loss sum / max(targets, 1)
  std::int64_t targets = 0;  // positions that count
};

struct StepResult {
  std::vector<MicroBatchLoss> losses;  // of this rank's own micro-batches, in order
  double loss = 0.0;                   // the objective over the global batch
  std::vector<Shard> gradients;        // after finalisation, in the parameter table's order
  std::vector<Shard> parameters;       // after the update
};

struct RankResult {
  std::vector<StepResult> steps;
};

}  // namespace lockstep
