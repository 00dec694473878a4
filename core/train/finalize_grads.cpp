// The finalize plan and its executor.
#include "core/train/finalize_grads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/parallel/collectives.h"

namespace lockstep {
namespace {

// The totals live on the device while the plan runs: they are reduced and read like any tensor. In
// f64 whatever the recipe's type, so that counts are exact.
class DeviceTotals {
 public:
  DeviceTotals(const OpContext& ops, const StepTotals& local)
      : tensor_(reals_from_host(
            ops,
            DType::kF64,
            std::array{
                local.objective, local.targets, local.reported_loss_sum, local.reported_targets},
            {4},
            "finalize.totals")) {}

  const Tensor& tensor() const { return tensor_; }
  Tensor objective() const { return tensor_.rows(0, 1); }

  StepTotals read(const OpContext& ops) const {
    const std::vector<double> values = read_reals(ops, tensor_, "finalize.totals");
    return {.objective = values[0],
            .targets = values[1],
            .reported_loss_sum = values[2],
            .reported_targets = values[3]};
  }

 private:
  Tensor tensor_;
};

void scale_all(const RankContext& context,
               const FinalizeEntry& entry,
               const GradientBuckets& buckets,
               const DeviceTotals& totals,
               double factor) {
  buckets.scale_all(factor, entry.label);
  scale_in_place(context.ops, totals.objective(), factor, entry.label);
}

void execute(const RankContext& context,
             const FinalizeEntry& entry,
             const GradientBuckets& buckets,
             MainGradientSink& sink,
             const DeviceTotals& totals) {
  const CollectiveSite site{.group = entry.group, .label = entry.label};
  switch (entry.action) {
    case FinalizeAction::kSumBucket:
      return all_reduce(context, site, buckets.bucket(entry.bucket));
    case FinalizeAction::kWaitBucket:
      return sink.wait(entry.bucket, entry.label);
    case FinalizeAction::kSumParameter:
      return all_reduce(context, site, buckets.main_gradient(entry.parameter));
    case FinalizeAction::kSumTotals:
      return all_reduce(context, site, totals.tensor());
    case FinalizeAction::kScale:
      return scale_all(context, entry, buckets, totals, entry.factor);
    case FinalizeAction::kScaleByTargets: {
      const double targets = totals.read(context.ops).targets;
      return scale_all(context, entry, buckets, totals, entry.factor / std::max(targets, 1.0));
    }
    case FinalizeAction::kScaleParameter:
      return scale_in_place(
          context.ops, buckets.main_gradient(entry.parameter), entry.factor, entry.label);
  }
  throw InternalError("unknown finalize action");
}

std::string_view name_of(FinalizeAction action) {
  switch (action) {
    case FinalizeAction::kSumBucket:
      return "sum bucket";
    case FinalizeAction::kWaitBucket:
      return "wait for bucket";
    case FinalizeAction::kSumParameter:
      return "sum parameter";
    case FinalizeAction::kSumTotals:
      return "sum totals";
    case FinalizeAction::kScale:
      return "scale";
    case FinalizeAction::kScaleByTargets:
      return "scale by targets";
    case FinalizeAction::kScaleParameter:
      return "scale parameter";
  }
  throw InternalError("unknown finalize action");
}

}  // namespace

FinalizePlan plan_finalize(const ParameterTable& table, const BucketPlan& buckets, const Case& c) {
  const std::int64_t dp_cp = c.layout.dp * c.layout.cp;
  FinalizePlan plan;
  if (dp_cp > 1) {
    const bool overlaps = overlaps_gradients(c);
    for (std::size_t i = 0; i < buckets.buckets.size(); ++i) {
      plan.entries.push_back(
          {.label = fmt::format("finalize.dp_{}.bucket{}", overlaps ? "wait" : "sum", i),
           .action = overlaps ? FinalizeAction::kWaitBucket : FinalizeAction::kSumBucket,
           .group = GroupKind::kDpCp,
           .bucket = {static_cast<int>(i)}});
    }
  }
  const bool sums_copies = c.layout.tp > 1 && !c.recipe.forward_only;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!sums_copies || table[i].gradient_on(Axis::kTp) != PlacementKind::kPartial) continue;
    plan.entries.push_back({.label = "finalize.tp_sum." + table[i].name,
                            .action = FinalizeAction::kSumParameter,
                            .group = GroupKind::kTp,
                            .parameter = {static_cast<int>(i)}});
  }
  if (dp_cp > 1) {
    plan.entries.push_back({.label = "finalize.totals_sum",
                            .action = FinalizeAction::kSumTotals,
                            .group = GroupKind::kDpCp});
  }
  if (c.recipe.loss_norm == LossNorm::kToken) {
    plan.entries.push_back({.label = "finalize.scale", .action = FinalizeAction::kScaleByTargets});
  } else {
    plan.entries.push_back({.label = "finalize.scale",
                            .action = FinalizeAction::kScale,
                            .factor = 1.0 / static_cast<double>(dp_cp)});
  }
  return plan;
}

std::string to_text(const FinalizePlan& plan) {
  std::string text;
  for (const FinalizeEntry& entry : plan.entries) {
    text += fmt::format("{}: {}", entry.label, name_of(entry.action));
    switch (entry.action) {
      case FinalizeAction::kWaitBucket:
        text += fmt::format(" {}\n", entry.bucket.value);
        break;
      case FinalizeAction::kSumBucket:
        text += fmt::format(" {} over {}\n", entry.bucket.value, name_of(entry.group));
        break;
      case FinalizeAction::kSumParameter:
        text += fmt::format(" {} over {}\n", entry.parameter.value, name_of(entry.group));
        break;
      case FinalizeAction::kSumTotals:
        text += fmt::format(" over {}\n", name_of(entry.group));
        break;
      case FinalizeAction::kScale:
      case FinalizeAction::kScaleByTargets:
        text += fmt::format(" factor {}\n", entry.factor);
        break;
      case FinalizeAction::kScaleParameter:
        text += fmt::format(" {} factor {}\n", entry.parameter.value, entry.factor);
        break;
    }
  }
  return text;
}

StepTotals finalize_grads(const RankContext& context,
                          const FinalizePlan& plan,
                          const GradientBuckets& buckets,
                          MainGradientSink& sink,
                          const StepTotals& local) {
  const DeviceTotals totals(context.ops, local);
  for (const FinalizeEntry& entry : plan.entries) {
    execute(context, entry, buckets, sink, totals);
  }
  return totals.read(context.ops);
}

}  // namespace lockstep
