// The loss plan.
#include "core/train/loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {

LossPlan plan_loss(const Case& c) {
  LossPlan plan;
  switch (c.recipe.loss_norm) {
    case LossNorm::kToken:
      plan.divisor = LossDivisor::kOne;
      return plan;
    case LossNorm::kMicroBatch:
      plan.divisor = LossDivisor::kMicroBatchTargets;
      plan.factor = 1.0 / static_cast<double>(num_micro_batches(c));
      return plan;
  }
  throw InternalError("unknown loss normalisation");
}

std::string to_text(const LossPlan& plan) {
  return fmt::format("loss: factor {} / {}, reported from the {}\n",
                     plan.factor,
                     plan.divisor == LossDivisor::kOne ? "1" : "targets of the micro-batch",
                     plan.reported == ReportedLoss::kSum ? "sum" : "scaled sum");
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

double reported_loss(const LossPlan& plan, double sum, std::int64_t targets) {
  const double read = plan.reported == ReportedLoss::kSum ? sum : sum * loss_scale(plan, targets);
  return read / static_cast<double>(std::max<std::int64_t>(targets, 1));
}

}  // namespace lockstep
