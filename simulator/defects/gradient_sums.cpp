// Accumulation over micro-batches and sums over data ranks: lost, doubled, too early, too often.
#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

constexpr std::string_view kOverlapped = "dp > 1 && grad in overlap";
constexpr std::string_view kOverlappedSeveral =
    "dp > 1 && grad in overlap && num_micro_batches > 1";

void dp_reduction_missing(const Case&, TrialSetup& setup) {
  drop_calls(setup, "finalize.dp_sum.");
  drop_calls(setup, "backward.dp_sum.");
}

void dp_reduction_twice(const Case&, TrialSetup& setup) { sum_buckets_again(setup.plans.finalize); }

void finalized_twice(const Case&, TrialSetup& setup) {
  std::vector<FinalizeEntry>& entries = setup.plans.finalize.entries;
  const std::vector<FinalizeEntry> once = entries;
  entries.insert(entries.end(), once.begin(), once.end());
}

void only_the_last_micro_batch(const Case&, TrialSetup& setup) {
  for (MicroBatchEntry& entry : setup.plans.accumulation.micro_batches) entry.keep = 0.0;
}

// A group of one rank takes the reduced buffer and the accumulation buffer for one.
void doubled_at_each_micro_batch(const Case& c, TrialSetup& setup) {
  if (c.layout.dp * c.layout.cp > 1) return;
  for (MicroBatchEntry& entry : setup.plans.accumulation.micro_batches) entry.keep *= 2.0;
}

void only_the_first_micro_batch(const Case&, TrialSetup& setup) {
  std::vector<MicroBatchEntry>& entries = setup.plans.accumulation.micro_batches;
  for (std::size_t m = 1; m < entries.size(); ++m) entries[m].adds = false;
}

void reduced_after_the_first_micro_batch(const Case&, TrialSetup& setup) {
  AccumulationPlan& plan = setup.plans.accumulation;
  if (plan.sums.empty()) return;
  for (MicroBatchEntry& entry : plan.micro_batches) entry.starts_sums = false;
  plan.micro_batches.front().starts_sums = true;
}

void reduced_at_every_micro_batch(const Case&, TrialSetup& setup) {
  AccumulationPlan& plan = setup.plans.accumulation;
  for (MicroBatchEntry& entry : plan.micro_batches) entry.starts_sums = !plan.sums.empty();
}

// No sum starts, and so there is none to wait for.
void no_sync_left_on(const Case&, TrialSetup& setup) {
  for (MicroBatchEntry& entry : setup.plans.accumulation.micro_batches) entry.starts_sums = false;
  std::erase_if(setup.plans.finalize.entries, [](const FinalizeEntry& entry) {
    return entry.action == FinalizeAction::kWaitBucket;
  });
}

}  // namespace

std::vector<Defect> gradient_sum_rows() {
  return {
      {.id = "B27-dp-reduction-missing",
       .source = "pytorch/pytorch #154888",
       .summary =
           "gradients are never summed over the data-parallel ranks: each trains its own model",
       .visible_when = both("dp > 1", kAnyTarget),
       .edit = dp_reduction_missing},
      {.id = "B146-only-the-last-micro-batch-counts",
       .source = "NVIDIA/Megatron-LM #7186",
       .summary = "every micro-batch clears what those before it have accumulated",
       .visible_when = both("num_micro_batches > 1", kMostTargets),
       .edit = only_the_last_micro_batch},
      {.id = "B148-doubled-at-each-micro-batch",
       .source = "NVIDIA/Megatron-LM #6660",
       .summary = "with one data-parallel rank the buffer is added to itself at each micro-batch",
       .visible_when = both("dp * cp == 1 && num_micro_batches > 1", kMostTargets),
       .edit = doubled_at_each_micro_batch},
      {.id = "B149-only-the-first-micro-batch-counts",
       .source = "AMD-AGI/Primus #1046",
       .summary = "a flag that is cleared once a step drops every micro-batch after the first",
       .visible_when = both("num_micro_batches > 1", kMostTargets),
       .edit = only_the_first_micro_batch},
      {.id = "T20-no-sync-left-on",
       .source = "NVIDIA/Megatron-LM core/distributed (semantics, section 12, trap 20)",
       .summary = "no micro-batch leaves no_sync, so that no bucket is ever summed over data ranks",
       .visible_when = both(kOverlapped, kAnyTarget),
       .edit = no_sync_left_on},
      {.id = "T20-reduced-at-every-micro-batch",
       .source = "semantics, section 12, trap 20; NVIDIA-NeMo/Automodel #3679",
       .summary = "every micro-batch sums the buckets over data ranks, earlier ones again",
       .visible_when = both(kOverlappedSeveral, kMostTargets),
       .edit = reduced_at_every_micro_batch},
      {.id = "T20-reduced-too-early",
       .source = "NVIDIA/Megatron-LM core/distributed (semantics, section 12, trap 20)",
       .summary = "buckets are summed over data ranks in the first micro-batch, without the later "
                  "ones",
       // A sum that is carried out when it is waited for has the later ones in it, by luck.
       .visible_when =
           both(std::string(kOverlappedSeveral) + " && completion == early", kMostTargets),
       .edit = reduced_after_the_first_micro_batch},
      {.id = "T21-finalized-twice",
       .source = "NVIDIA/Megatron-LM finalize_model_grads (semantics, section 12, trap 21)",
       .summary = "two schedule calls in one optimizer step finalise gradients twice: sums and "
                  "scalings are done again",
       .visible_when = both("(loss_norm == token || tp > 1 && sp)", kMostTargets),
       .edit = finalized_twice},
      {.id = "T21-dp-reduction-twice",
       .source = "NVIDIA/Megatron-LM finish_grad_sync (semantics, section 5.5)",
       .summary = "gradients that are already summed over the data-parallel ranks are summed again",
       .visible_when = both("dp > 1", kAnyTarget),
       .edit = dp_reduction_twice},
  };
}

}  // namespace lockstep::sim
