// The loss over a cut vocabulary, its normalisation over tokens, and its report.
#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

// The width of a shard for the vocabulary, and a mean over the shard that nothing joins.
void smoothing_over_own_shard(const Case& c, TrialSetup& setup) {
  CrossEntropyPlan& plan = setup.plans.cross_entropy;
  if (plan.sums.empty() || c.recipe.label_smoothing == 0.0) return;
  const auto width = static_cast<double>(plan.width);
  for (LogitSum& sum : plan.sums) sum.count = kSumOfLogitsRow - sum.first;
  plan.smoothing = {.weight = c.recipe.label_smoothing * width / (width - 1.0),
                    .vocabulary = plan.width};
}

// Each rank takes all logits for its own shard of a vocabulary tp times as large, and their padded
// columns for real ones.
void gathered_logits_as_a_shard(const Case& c, TrialSetup& setup) {
  if (!c.model.gather_output || c.layout.tp == 1) return;
  CrossEntropyPlan& plan = setup.plans.cross_entropy;
  plan.stride = plan.width;
  plan.num_real = plan.width * c.layout.tp;
  plan.max_group = GroupKind::kTp;
  plan.sums = {{.label = "forward.sum.cross_entropy"}};
}

void padding_in_the_softmax(const Case& c, TrialSetup& setup) {
  CrossEntropyPlan& plan = setup.plans.cross_entropy;
  const std::int64_t num_parts = plan.stride == 0 ? 1 : c.layout.tp;
  plan.num_real = plan.width * num_parts;
}

void token_mean_never_divided(const Case&, TrialSetup& setup) {
  std::erase_if(setup.plans.finalize.entries, [](const FinalizeEntry& entry) {
    return entry.action == FinalizeAction::kScaleByTargets;
  });
}

void divided_by_micro_batches_too(const Case& c, TrialSetup& setup) {
  if (c.recipe.loss_norm != LossNorm::kToken) return;
  setup.plans.loss.factor /= static_cast<double>(num_micro_batches(c));
}

// Each rank divides by what it counted itself.
void counts_not_summed_over_dp(const Case& c, TrialSetup& setup) {
  if (c.recipe.loss_norm != LossNorm::kToken) return;
  std::erase_if(setup.plans.finalize.entries, [](const FinalizeEntry& entry) {
    return entry.action == FinalizeAction::kSumTotals;
  });
}

// Each micro-batch is divided by its own count and all are averaged, as the other normalisation
// does.
void mean_of_micro_batch_means(const Case& c, TrialSetup& setup) {
  Case as_means = c;
  as_means.recipe.loss_norm = LossNorm::kMicroBatch;
  setup.plans.loss = plan_loss(as_means);
  setup.plans.finalize = plan_finalize(setup.plans.table, setup.plans.buckets, as_means);
}

void averaged_over_the_world(const Case& c, TrialSetup& setup) {
  const std::int64_t data_ranks = c.layout.dp * c.layout.cp;
  rescale(setup.plans.finalize,
          static_cast<double>(data_ranks) / static_cast<double>(world_size(c.layout)));
}

void report_aliases_the_division(const Case& c, TrialSetup& setup) {
  // A share of two values is divided into memory of its own.
  if (c.recipe.loss_norm != LossNorm::kMicroBatch || c.recipe.loss_values == 2) return;
  setup.plans.loss.reported = ReportedLoss::kScaled;
}

}  // namespace

std::vector<Defect> loss_rows() {
  return {
      {.id = "B06-smoothing-over-own-shard",
       .source = "NVIDIA/Megatron-LM #7452 finding 1",
       .summary = "label smoothing takes a rank's shard for the vocabulary and averages over it "
                  "alone",
       .visible_when = both("tp > 1 && !gather_output && label_smoothing >= 0.001", kAnyTarget),
       .edit = smoothing_over_own_shard},
      {.id = "B07-gathered-logits-as-a-shard",
       .source = "NVIDIA/Megatron-LM #7452 finding 2",
       .summary = "gathered logits go to the vocabulary-parallel loss, which counts them tp times",
       .visible_when = both("tp > 1 && gather_output", kAnyTarget),
       .edit = gathered_logits_as_a_shard},
      {.id = "B42-token-mean-never-divided",
       .source = "NVIDIA-NeMo/Megatron-Bridge #4974",
       .summary = "gradients are never divided by the global token count: the finalizer is hidden "
                  "behind a copied config",
       .visible_when = both("loss_norm == token", kMostTargets),
       .edit = token_mean_never_divided},
      {.id = "B45-divided-by-micro-batches-too",
       .source = "verl-project/verl #5867",
       .summary = "a loss that is divided by the global token count is divided by the number of "
                  "micro-batches as well",
       .visible_when = both("loss_norm == token && num_micro_batches > 1", kAnyTarget),
       .edit = divided_by_micro_batches_too},
      {.id = "S62-mean-of-micro-batch-means",
       .source = "NVIDIA/Megatron-LM pipeline_parallel/schedules.py (semantics, section 6.2)",
       .summary =
           "each micro-batch is divided by its own target count and all weigh the same where "
           "a mean over tokens is asked",
       .visible_when = both("loss_norm == token", kUnequalCounts),
       .edit = mean_of_micro_batch_means},
      {.id = "S53-averaged-over-the-world",
       .source = "NVIDIA/Megatron-LM core/distributed (semantics, section 5.3)",
       .summary = "gradients are divided by the world size where only the data-parallel ranks hold "
                  "different samples",
       .visible_when = both("tp > 1", kAnyTarget),
       .edit = averaged_over_the_world},
      {.id = "S07-counts-not-summed-over-dp",
       .source = "NVIDIA/Megatron-LM finalize_model_grads (semantics, section 7)",
       .summary = "gradients that are summed over data ranks are divided by the targets of one of "
                  "them",
       .visible_when = both("dp > 1 && loss_norm == token", kMostTargets),
       .edit = counts_not_summed_over_dp},
      // Below f64 rounding may hide a column of padding beside many real ones.
      {.id = "S28-padding-in-the-softmax",
       .source = "NVIDIA/Megatron-LM tensor_parallel/cross_entropy.py (semantics, section 2.8)",
       .summary = "padded vocabulary columns take part in the softmax, so that the loss depends on "
                  "tp",
       .visible_when = both("vocab_size % (vocab_divisor * tp) != 0 && dtype == f64", kAnyTarget),
       .edit = padding_in_the_softmax},
      {.id = "Th-report-aliases-the-division",
       .source = "NVIDIA/Megatron-LM pipeline_parallel/schedules.py (semantics, section 6.1)",
       .summary = "the loss is divided in place while the report still refers to it",
       // With a single target the scale is cp over the number of micro-batches, which may be 1.
       .visible_when = "loss_norm == micro_batch && loss_values == 3 && (mask == full || " +
                       both("cp == 1 && num_micro_batches > 1", kAnyTarget) + ")",
       .edit = report_aliases_the_division},
  };
}

}  // namespace lockstep::sim
