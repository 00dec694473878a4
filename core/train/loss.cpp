// The loss plan.
#include "core/train/loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {

LossPlan plan_loss(const Case& c) {
  const auto vocabulary = static_cast<double>(c.model.vocab_size);
  LossPlan plan;
  plan.smoothing = {.weight = c.recipe.label_smoothing * vocabulary / (vocabulary - 1.0),
                    .vocabulary = c.model.vocab_size};
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
  return fmt::format("loss: factor {} / {}, smoothing {} over {}\n",
                     plan.factor,
                     plan.divisor == LossDivisor::kOne ? "1" : "targets of the micro-batch",
                     plan.smoothing.weight,
                     plan.smoothing.vocabulary);
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
