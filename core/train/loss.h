// What divides a micro-batch's loss before its backward pass (semantics, sections 6.1 and 6.2).
#pragma once

#include <string>

#include "core/config/case.h"
#include "core/ops/kernels.h"

namespace lockstep {

enum class LossDivisor {
  kOne,                // the sum over tokens; finalisation divides by all targets of the step
  kMicroBatchTargets,  // max(targets of the micro-batch, 1)
};

// The backward pass starts from loss_sum * factor / divisor.
struct LossPlan {
  LossDivisor divisor = LossDivisor::kOne;
  double factor = 1.0;
  // Over the whole real vocabulary (semantics, section 13): a share of s spread over the other
  // V - 1 ids is a weight of s V / (V - 1) spread over all V.
  LabelSmoothing smoothing = {};
};

LossPlan plan_loss(const Case& c);
std::string to_text(const LossPlan& plan);

// factor / divisor: what the gradient of the loss sum starts from.
double loss_scale(const LossPlan& plan, std::int64_t targets);

}  // namespace lockstep
