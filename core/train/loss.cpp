// The loss plan.
#include "core/train/loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {

LossPlan plan_loss(const Case& c) {
  switch (c.recipe.loss_norm) {
    case LossNorm::kToken:
      return {.divisor = LossDivisor::kOne, .factor = 1.0};
    case LossNorm::kMicroBatch:
      return {.divisor = LossDivisor::kMicroBatchTargets,
              .factor = 1.0 / static_cast<double>(num_micro_batches(c))};
  }
  throw InternalError("unknown loss normalisation");
}

std::string to_text(const LossPlan& plan) {
  return fmt::format("loss: factor {} / {}\n",
                     plan.factor,
                     plan.divisor == LossDivisor::kOne ? "1" : "targets of the micro-batch");
}

double loss_scale(const LossPlan& plan, std::int64_t targets) {
  switch (plan.divisor) {
    case LossDivisor::kOne:
      return plan.factor;
    case LossDivisor::kMicroBatchTargets:
      return plan.factor / static_cast<double>(std::max<std::int64_t>(targets, 1));
  }
  throw InternalError("unknown loss divisor");
}

}  // namespace lockstep
