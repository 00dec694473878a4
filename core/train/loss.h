// Loss functions of one micro-batch, and what divides their values before the backward pass
// (semantics, sections 6.1, 6.2 and 13).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/autograd/tape.h"
#include "core/config/case.h"
#include "core/parallel/rank_context.h"

namespace lockstep {

enum class LossDivisor {
  kOne,                // the sum over tokens; finalisation divides by all targets of the step
  kMicroBatchTargets,  // max(targets of the micro-batch, 1)
};

// How the targets of a micro-batch are summed over the ranks that hold parts of it.
enum class CountReduction {
  kCopy,     // what the loss function returned stays this rank's own
  kInPlace,  // it does not, nor does whatever shares its memory
};

// What a report of the loss reads.
enum class ReportedLoss {
  kSum,     // the sum over tokens
  kScaled,  // the sum's memory after it was scaled in place
};

// The backward pass starts from loss * factor / divisor. A loss function of three values returns
// the sum over the rank's own tokens, their count and a report, and the schedule divides; one of
// two values returns the rank's share of the micro-batch's mean, divided already, and a report.
struct LossPlan {
  std::int64_t values = 3;
  LossDivisor divisor = LossDivisor::kOne;
  // The dividing count is the sum over this group. None: each rank divides by its own count, which
  // makes a mean of means of what is cut over cp.
  std::optional<GroupKind> count_group = {};
  CountReduction count_reduction = CountReduction::kCopy;
  double factor = 1.0;
  ReportedLoss reported = ReportedLoss::kSum;
};

// Counts are summed over cp.
LossPlan plan_loss(const Case& c);
// For a caller that says over which group, or over none: then a loss of three values is not
// multiplied by cp either, as the mean over ranks that finalisation takes is all that joins them.
LossPlan plan_loss(const Case& c, std::optional<GroupKind> count_group);
std::string to_text(const LossPlan& plan);

// What is told of a micro-batch, [1] each, of this rank's own tokens. May share memory with what
// the loss function returned.
struct LossReport {
  Tensor loss_sum;
  Tensor count;
};
struct LossOutput {
  Variable loss;  // [1]
  Tensor count;   // [1], f64; empty of two values
  LossReport report;
};

// The loss function that the plan says, from the sum [1] over the rank's own tokens and how many of
// them are targets.
LossOutput masked_loss(const RankContext& context,
                       Tape& tape,
                       const LossPlan& plan,
                       const Variable& loss_sum,
                       std::int64_t targets);

// What the gradient of the loss starts from.
double loss_scale(const RankContext& context, const LossPlan& plan, const LossOutput& output);

}  // namespace lockstep
