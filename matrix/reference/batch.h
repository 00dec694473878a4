// The tokens of one training step over the whole global batch, and how much each counts.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/case.h"

namespace lockstep::matrix {

// Token t is position t % seq of sample t / seq.
struct Batch {
  std::vector<std::int64_t> inputs_T;
  std::vector<std::int64_t> labels_T;
  std::vector<bool> is_target_T;
  std::vector<double> weight_T;           // of each token's loss in the objective, 0 off target
  std::vector<std::int64_t> targets_G;    // by global micro-batch
  std::int64_t tokens_a_micro_batch = 0;  // so token t belongs to micro-batch t / this
  std::vector<std::int64_t> places_T;  // of each token in its document; empty: a document a sample
  std::int64_t first_token = 0;        // number of token 0 among those of all steps
};

// Draws the case's tokens of a step.
Batch make_batch(const Case& c, std::int64_t step);

// Counts the targets and weighs them, for tokens that are given.
void weigh_targets(LossNorm norm, Batch& batch);

}  // namespace lockstep::matrix
