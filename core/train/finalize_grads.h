// Finalising gradients: once a step, summed main gradients become the gradient of the objective.
//
// plan_finalize decides which gradient is summed over which group and what scales; the executor
// runs the entries in order, without opinions. Collectives sum, one entry scales (semantics,
// section 7).
#pragma once

#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/parallel/rank_context.h"
#include "core/train/main_gradient_sink.h"

namespace lockstep {

enum class FinalizeAction {
  kSumBucket,       // all-reduce a bucket of main gradients
  kWaitBucket,      // wait for the all-reduce that a backward pass started
  kSumParameter,    // all-reduce one parameter's main gradient
  kSumTotals,       // all-reduce the step's totals
  kScale,           // multiply all main gradients and the objective by `factor`
  kScaleByTargets,  // the same by factor / max(targets, 1)
  kScaleParameter,  // multiply one parameter's main gradient by `factor`
};

struct FinalizeEntry {
  std::string label;  // finalize.dp_sum.bucket0, finalize.dp_wait.bucket0, finalize.scale ...
  FinalizeAction action;
  GroupKind group = GroupKind::kWorld;  // of a sum; a wait carries its sum's
  BucketId bucket = {-1};               // of kSumBucket and kWaitBucket
  ParameterId parameter = {-1};         // of kSumParameter and kScaleParameter
  double factor = 1.0;                  // of a scaling
};

struct FinalizePlan {
  std::vector<FinalizeEntry> entries;
};

FinalizePlan plan_finalize(const ParameterTable& table, const BucketPlan& buckets, const Case& c);
std::string to_text(const FinalizePlan& plan);

// What a rank's micro-batches of one step add up to.
struct StepTotals {
  double objective = 0.0;  // sum of the losses that backward passes started from
  double targets = 0.0;    // as loss functions returned them; 0 where they return none
  // As they reported them.
  double reported_loss_sum = 0.0;
  double reported_targets = 0.0;
};

// Runs the plan; returns the totals as they are at its end.
StepTotals finalize_grads(const RankContext& context,
                          const FinalizePlan& plan,
                          const GradientBuckets& buckets,
                          MainGradientSink& sink,
                          const StepTotals& local);

}  // namespace lockstep
