// What one rank observed of a trial: losses, activations, gradients, norms, parameters, state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/snapshot/shard.h"

namespace lockstep {

// Under context parallelism of the rank's own tokens alone.
struct MicroBatchLoss {
  std::int64_t global_micro_batch = 0;
  double loss_sum = 0.0;                // over the positions that count
  std::int64_t targets = 0;             // how many those are
  std::vector<Shard> activations = {};  // the traced ones, in the activation table's order
};

// Tensors are in the parameter table's order.
struct StepResult {
  std::vector<MicroBatchLoss> losses;    // of this rank's own micro-batches, in order
  double loss = 0.0;                     // the objective over the global batch
  double reported_loss = 0.0;            // all loss sums / max(all targets, 1): a training log's
  std::int64_t reported_targets = 0;     // over all ranks
  std::vector<Shard> gradients;          // after finalisation, before clipping
  std::vector<Shard> clipped_gradients;  // none where the recipe does not clip
  double gradient_norm = 0.0;            // over all ranks, before clipping
  std::int64_t gradient_zeros = 0;       // over all ranks, after clipping
  std::vector<Shard> parameters;         // after the update, as the model reads them
  double parameter_norm = 0.0;           // of the masters, after the update
  std::vector<Shard> masters;            // none where parameters are their own masters
  std::vector<Shard> exp_avg;            // AdamW's moments; none for sgd
  std::vector<Shard> exp_avg_sq;
};

// What a count plan says of planted values: a norm, or a number of zeros.
struct ProbeResult {
  std::string label;
  double value = 0.0;
};

struct RankResult {
  std::vector<StepResult> steps;
  std::vector<ProbeResult> probes;  // after the last step, in the probe plan's order
};

}  // namespace lockstep
