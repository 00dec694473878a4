// One micro-batch through a case's decoder on simulated ranks, put together over its layout.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/train/plans.h"

namespace lockstep::test {

struct MicroBatchOptions {
  MicroBatchId id = {};
  // Before the ranks start, and on each of them.
  std::function<void(Plans&)> edit = [](Plans&) {};
  std::function<void(const RankContext&, MicroBatch&)> edit_batch = [](const RankContext&,
                                                                       MicroBatch&) {};
  // What the gradient of the rank's own loss sum starts from.
  std::function<double(const MicroBatch&)> loss_gradient = [](const MicroBatch&) { return 1.0; };
};

// Full tensors, row-major. Of dp replicas, which all run the same micro-batch, the last one's.
struct MicroBatchRun {
  std::vector<double> loss_sums;                 // by rank of the replica
  std::vector<std::int64_t> targets;             // alike
  std::vector<std::vector<double>> activations;  // by the activation table
  std::vector<std::vector<double>> gradients;    // by the parameter table, terms added up

  double loss_sum(const Layout& layout) const;           // over cp
  std::int64_t num_targets(const Layout& layout) const;  // alike
};

// Whatever the cluster finds, and a case that cannot exist, fails the test.
MicroBatchRun run_micro_batch(const Case& c, const MicroBatchOptions& options = {});

}  // namespace lockstep::test
