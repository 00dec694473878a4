// The training program of one rank: the same on simulated ranks and on hardware.
#pragma once

#include <optional>
#include <vector>

#include "core/config/case.h"
#include "core/parallel/rank_context.h"
#include "core/train/optimizer_state.h"
#include "core/train/plans.h"
#include "core/train/rank_result.h"
#include "core/train/step_snapshot.h"

namespace lockstep {

// A step is one call of run_step, or begin_step, a run_micro_batch for each of the rank's
// micro-batches, and finish_step. Any other order is an InternalError. Both are the same step by
// construction: run_step makes the calls of the split API itself, and recipe.step_api only says who
// loops over them.
class Trainer {
 public:
  // All outlive the trainer.
  Trainer(const RankContext& context, const Case& c, const Plans& plans);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  StepResult run_step(std::int64_t step);

  void begin_step(std::int64_t step);
  void run_micro_batch();
  StepResult finish_step();

  // After the last step: gradients are overwritten.
  std::vector<ProbeResult> run_probes();

 private:
  // From begin_step to finish_step.
  struct OpenStep {
    std::int64_t step = 0;
    std::int64_t num_micro_batches = 0;  // run so far
    StepTotals totals = {};
    StepResult result = {};
  };

  MicroBatchLoss forward_backward(const MicroBatchId& id, StepTotals& totals);
  void update(StepResult& result);

  const RankContext& context_;
  const Case& case_;
  const Plans& plans_;
  AttentionPlans attention_;
  BatchMaker batches_;
  Parameters parameters_;
  OptimizerState state_;
  GradientBuckets gradients_;
  MainGradientSink sink_;
  Decoder model_;
  StepSnapshot snapshot_;
  std::optional<OpenStep> open_;
};

// Trains for recipe.steps steps with the recipe's step API, then runs the probes; each finished
// step is appended to `result` at once, so that what a rank did before it failed is not lost.
void train(const RankContext& context, const Case& c, const Plans& plans, RankResult& result);

}  // namespace lockstep
