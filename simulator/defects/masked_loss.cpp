// The masked loss of a micro-batch that is cut over cp: what divides it, over which ranks.
#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

constexpr std::string_view kMeans = "cp > 1 && loss_norm == micro_batch";
constexpr std::string_view kMeansOfThree = "cp > 1 && loss_norm == micro_batch && loss_values == 3";

// In every micro-batch that has targets some cp rank has more than another.
constexpr std::string_view kUnequalParts =
    "(mask == single || mask == empty && seq >= 32 && !packing || mask == uneven && "
    "num_micro_batches * dp >= "
    "6 && seq * micro_batch >= 8)";

bool takes_means(const Case& c) { return c.recipe.loss_norm == LossNorm::kMicroBatch; }

void local_count_under_cp(const Case& c, TrialSetup& setup) {
  if (!takes_means(c) || c.recipe.loss_values != 3) return;
  setup.plans.loss = plan_loss(c, std::nullopt);
}

// The loss function's own mean is over its own tokens.
void share_of_the_local_mean(const Case& c, TrialSetup& setup) {
  if (c.recipe.loss_values == 2) setup.plans.loss.count_group.reset();
}

void cp_factor_twice(const Case& c, TrialSetup& setup) {
  if (takes_means(c)) setup.plans.loss.factor *= static_cast<double>(c.layout.cp);
}

void cp_factor_never(const Case& c, TrialSetup& setup) {
  if (takes_means(c)) setup.plans.loss.factor /= static_cast<double>(c.layout.cp);
}

void two_values_where_a_count_is_needed(const Case& c, TrialSetup& setup) {
  if (!takes_means(c)) setup.plans.loss.values = 2;
}

void count_summed_over(GroupKind group, TrialSetup& setup) {
  if (setup.plans.loss.count_group) setup.plans.loss.count_group = group;
}

void count_over_dp_cp(const Case& c, TrialSetup& setup) {
  if (c.layout.dp > 1) count_summed_over(GroupKind::kDpCp, setup);
}

void count_over_tp_cp(const Case& c, TrialSetup& setup) {
  if (c.layout.tp > 1) count_summed_over(GroupKind::kTpCp, setup);
}

void count_summed_in_place(const Case&, TrialSetup& setup) {
  LossPlan& plan = setup.plans.loss;
  if (plan.count_group) plan.count_reduction = CountReduction::kInPlace;
}

// Objective and counts of the other cp ranks are missing.
void counts_of_dp_for_dp_cp(const Case& c, TrialSetup& setup) {
  if (c.layout.cp == 1 || takes_means(c)) return;
  std::vector<FinalizeEntry>& entries = setup.plans.finalize.entries;
  for (FinalizeEntry& entry : entries) {
    if (entry.action == FinalizeAction::kSumTotals) entry.group = GroupKind::kDp;
  }
  if (c.layout.dp > 1) return;
  std::erase_if(entries, [](const FinalizeEntry& entry) {
    return entry.action == FinalizeAction::kSumTotals;
  });
}

void never_finalized(const Case&, TrialSetup& setup) {
  std::erase_if(setup.plans.finalize.entries, [](const FinalizeEntry& entry) {
    return entry.action != FinalizeAction::kSumTotals &&
           entry.action != FinalizeAction::kWaitBucket;
  });
}

}  // namespace

std::vector<Defect> masked_loss_rows() {
  return {
      {.id = "B05-local-count-under-cp",
       .source = "NVIDIA/Megatron-LM #7513 (finding 9 of #7452)",
       .summary =
           "each cp rank divides its loss sum by its own count of targets, and the mean over "
           "cp ranks joins them",
       .visible_when = both(kMeansOfThree, kUnequalParts),
       .edit = local_count_under_cp},
      {.id = "B03-share-of-the-local-mean",
       .source = "radixark/miles #1823",
       .summary =
           "a loss function of two values returns the mean over its own tokens for its share "
           "of the micro-batch's",
       // Where one rank has all targets, its own mean is the mean.
       .visible_when = both("cp > 1 && loss_values == 2 && mask == uneven", kMostTargets),
       .edit = share_of_the_local_mean},
      {.id = "B35-cp-factor-twice",
       .source = "NovaSky-AI/SkyRL #1751",
       .summary = "the loss is multiplied by cp by its caller and by the schedule",
       .visible_when = both(kMeans, kAnyTarget),
       .edit = cp_factor_twice},
      {.id = "S62-cp-factor-never",
       .source = "NVIDIA/Megatron-LM pipeline_parallel/schedules.py (semantics, section 6.2)",
       .summary =
           "nothing makes up for the mean over cp ranks, each of which has a part of the sum",
       .visible_when = both(kMeans, kAnyTarget),
       .edit = cp_factor_never},
      {.id = "B43-two-values-where-a-count-is-needed",
       .source = "verl-project/verl #6836",
       .summary = "a loss function returns two values where finalisation divides by the count: it "
                  "sees none",
       .visible_when = both("loss_norm == token && num_micro_batches * dp * cp > 1", kMostTargets),
       .edit = two_values_where_a_count_is_needed},
      {.id = "S13-count-over-dp-cp",
       .source = "NVIDIA/Megatron-LM #7452: a global group used for the explicit one",
       .summary = "the count that divides a micro-batch's loss is summed over other micro-batches "
                  "too",
       .visible_when = both(std::string(kMeans) + " && dp > 1", kMostTargets),
       .edit = count_over_dp_cp},
      {.id = "S13-count-over-tp-cp",
       .source = "NVIDIA/Megatron-LM #7452: a global group used for the explicit one",
       .summary = "the count that divides a micro-batch's loss is summed over tensor ranks too, "
                  "which have the same tokens",
       .visible_when = both(std::string(kMeans) + " && tp > 1", kMostTargets),
       .edit = count_over_tp_cp},
      {.id = "T13-count-summed-in-place",
       .source = "semantics, section 12, trap 13",
       .summary = "the returned count itself is summed over cp, and whatever shares its memory",
       .visible_when = both(kMeans, kAnyTarget),
       .edit = count_summed_in_place},
      {.id = "S07-counts-of-dp-for-dp-cp",
       .source = "NVIDIA/Megatron-LM finalize_model_grads (semantics, section 7)",
       .summary = "objective, targets and report are summed over dp alone: gradients summed over "
                  "dp and cp "
                  "are divided by too few",
       .visible_when = both("cp > 1 && loss_norm == token", kMostTargets),
       .edit = counts_of_dp_for_dp_cp},
      {.id = "T21-never-finalized",
       .source = "semantics, section 12, trap 21",
       .summary = "a step ends without finalisation: nothing is summed over ranks nor scaled",
       .visible_when = both("(dp * cp > 1 || loss_norm == token)", kMostTargets),
       .edit = never_finalized},
  };
}

}  // namespace lockstep::sim
