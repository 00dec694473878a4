// What divides a micro-batch's loss before its backward pass (semantics, sections 6.1 and 6.2).
#pragma once

#include <string>

#include "core/config/case.h"

namespace lockstep {

enum class LossDivisor {
  kOne,                // the sum over tokens; finalisation divides by all targets of the step
  kMicroBatchTargets,  // max(targets of the micro-batch, 1)
};

// What a report of the micro-batch's loss divides by its targets.
enum class ReportedLoss {
  kSum,     // the sum over tokens
  kScaled,  // what the backward pass started from: the sum's memory after it was scaled in place
};

// The backward pass starts from loss_sum * factor / divisor.
struct LossPlan {
  LossDivisor divisor = LossDivisor::kOne;
  double factor = 1.0;
  ReportedLoss reported = ReportedLoss::kSum;
};

LossPlan plan_loss(const Case& c);
std::string to_text(const LossPlan& plan);

// factor / divisor: what the gradient of the loss sum starts from.
double loss_scale(const LossPlan& plan, std::int64_t targets);
// The micro-batch's loss as it is told, from the sum over its tokens.
double reported_loss(const LossPlan& plan, double sum, std::int64_t targets);

}  // namespace lockstep
