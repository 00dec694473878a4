// The loss plan, and both kinds of loss function.
#include "core/train/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/parallel/collectives.h"

namespace lockstep {
namespace {

constexpr std::string_view kCountLabel = "forward.count.loss";

// max(targets of the micro-batch, 1), over whichever ranks the plan says.
double dividing_count(const RankContext& context, const LossPlan& plan, const Tensor& count) {
  Tensor sum = count;
  if (plan.count_group.has_value()) {
    const CollectiveSite site{.group = *plan.count_group, .label = kCountLabel};
    switch (plan.count_reduction) {
      case CountReduction::kCopy:
        sum = all_reduced(context, site, count);
        break;
      case CountReduction::kInPlace:
        all_reduce(context, site, count);
        break;
    }
  }
  return std::max(read_reals(context.ops, sum, kCountLabel)[0], 1.0);
}

Variable divided(Tape& tape, const Variable& x, double divisor) {
  const Tensor factor =
      reals_from_host(tape.ops(), x.value.dtype, std::array{1.0 / divisor}, {1}, "loss.share");
  return tape.record({.label = "loss_share",
                      .inputs = {x},
                      .outputs = {scaled_by(tape.ops(), x.value, factor)},
                      .saved = {factor},
                      .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
                        return {scaled_by(call.ops, call.output_gradients[0], call.saved[0])};
                      }})[0];
}

}  // namespace

LossPlan plan_loss(const Case& c) {
  if (c.layout.cp == 1) return plan_loss(c, std::nullopt);
  return plan_loss(c, GroupKind::kCp);
}

LossPlan plan_loss(const Case& c, std::optional<GroupKind> count_group) {
  LossPlan plan{.values = c.recipe.loss_values};
  switch (c.recipe.loss_norm) {
    case LossNorm::kToken:
      plan.divisor = LossDivisor::kOne;
      return plan;
    case LossNorm::kMicroBatch: {
      const bool averages_parts = count_group.has_value() || plan.values == 2;
      plan.divisor = LossDivisor::kMicroBatchTargets;
      plan.count_group = count_group;
      plan.factor = (averages_parts ? static_cast<double>(c.layout.cp) : 1.0) /
                    static_cast<double>(num_micro_batches(c));
      return plan;
    }
  }
  throw InternalError("unknown loss normalisation");
}

std::string to_text(const LossPlan& plan) {
  std::string text =
      fmt::format("loss: {} values, factor {} / {}",
                  plan.values,
                  plan.factor,
                  plan.divisor == LossDivisor::kOne ? "1" : "targets of the micro-batch");
  if (plan.count_group.has_value()) {
    text += fmt::format(" summed over {}{}",
                        name_of(*plan.count_group),
                        plan.count_reduction == CountReduction::kInPlace ? " in place" : "");
  }
  return text + fmt::format(", reported from the {}\n",
                            plan.reported == ReportedLoss::kSum ? "sum" : "scaled sum");
}

LossOutput masked_loss(const RankContext& context,
                       Tape& tape,
                       const LossPlan& plan,
                       const Variable& loss_sum,
                       std::int64_t targets) {
  const Tensor count = reals_from_host(
      context.ops, DType::kF64, std::array{static_cast<double>(targets)}, {1}, "loss.count");
  const LossReport report{.loss_sum = loss_sum.value, .count = count};
  if (plan.values == 3) return {.loss = loss_sum, .count = count, .report = report};
  return {.loss = divided(tape, loss_sum, dividing_count(context, plan, count)),
          .count = {},
          .report = report};
}

double loss_scale(const RankContext& context, const LossPlan& plan, const LossOutput& output) {
  if (plan.divisor == LossDivisor::kOne || !output.count) return plan.factor;
  return plan.factor / dividing_count(context, plan, output.count);
}

}  // namespace lockstep
