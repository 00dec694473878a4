// Tokens cut over cp, and attention that reaches the others.
#include "core/parallel/collectives.h"
#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

constexpr std::string_view kAttentive = "cp > 1 && attention == causal";
constexpr std::string_view kOnRing = "cp > 1 && attention == causal && cp_comm in [p2p, 'a2a+p2p']";
// Documents of up to 3/8 of seq: of many some are longer than what they are padded to, and no
// multiple of it.
constexpr std::string_view kSomeLongDocument =
    "num_micro_batches * dp >= 6 && (sp && 8 * cp * tp <= seq || !sp && 8 * cp <= seq)";
// Of many documents some need padding.
constexpr std::string_view kSomePadding =
    "cp > 1 && packing && num_micro_batches * dp >= 6 && seq >= 12";
// Another label is another token, mostly.
constexpr std::string_view kOtherLabels =
    "cp > 1 && !packing && vocab_size >= 17 && num_micro_batches * dp >= 6 && mask == full";
constexpr std::string_view kGathered = "cp > 1 && attention == causal && cp_comm == all_gather";

// All fields of a batch, their rows and the tables of attention alike.
template <typename Edit>
void edit_all_cuts(Plans& plans, const Edit& edit) {
  BatchPlan& batch = plans.batch;
  for (SequenceCut* const cut : {&batch.ids,
                                 &batch.labels,
                                 &batch.weights,
                                 &batch.positions,
                                 &batch.rows,
                                 &plans.context.tokens}) {
    edit(*cut);
  }
}

bool is_cut(const SequenceCut& cut) { return cut.num_parts > 1; }
bool is_padded(const SequenceCut& cut) { return cut.multiple > 1; }

void labels_shifted_after_the_cut(const Case&, TrialSetup& setup) {
  BatchPlan& batch = setup.plans.batch;
  if (is_cut(batch.labels)) batch.shift = LabelShift::kAfterCut;
}

void labels_cut_contiguously(const Case&, TrialSetup& setup) {
  SequenceCut& cut = setup.plans.batch.labels;
  if (is_cut(cut)) cut.order = ChunkOrder::kContiguous;
}

void mask_cut_contiguously(const Case&, TrialSetup& setup) {
  SequenceCut& cut = setup.plans.batch.weights;
  if (is_cut(cut)) cut.order = ChunkOrder::kContiguous;
}

// Ids, labels and mask go by the place in dp.
void cut_by_the_data_rank(const Case&, TrialSetup& setup) {
  BatchPlan& batch = setup.plans.batch;
  if (!is_cut(batch.ids)) return;
  for (SequenceCut* const cut : {&batch.ids, &batch.labels, &batch.weights}) cut->axis = Axis::kDp;
}

void rope_table_not_cut(const Case&, TrialSetup& setup) {
  SequenceCut& cut = setup.plans.batch.positions;
  if (is_cut(cut)) cut.order = ChunkOrder::kFirst;
}

void rope_table_of_one_document(const Case&, TrialSetup& setup) {
  SequenceCut& cut = setup.plans.batch.positions;
  if (is_cut(cut) && is_padded(cut)) cut.unit = CutUnit::kSample;
}

void lengths_rounded_down(const Case&, TrialSetup& setup) {
  edit_all_cuts(setup.plans, [](SequenceCut& cut) {
    if (is_padded(cut)) cut.rounds_up = false;
  });
}

void documents_joined(const Case& c, TrialSetup& setup) {
  if (c.recipe.packing) setup.plans.context.keeps_documents_apart = false;
}

// Lengths stay, so that what is cut from the pack no longer lies where its table says.
void interior_padding_dropped(const Case&, TrialSetup& setup) {
  BatchPlan& batch = setup.plans.batch;
  for (SequenceCut* const cut : {&batch.ids, &batch.labels, &batch.weights}) {
    if (is_padded(*cut)) cut->padding = PaddingPlace::kBehindSample;
  }
}

void padding_kept_in_the_mask(const Case&, TrialSetup& setup) {
  BatchPlan& batch = setup.plans.batch;
  if (is_padded(batch.weights)) batch.padding_weight = 1.0;
}

void ring_backward_reads_own_keys(const Case&, TrialSetup& setup) {
  if (!setup.plans.context.ring) return;
  for (RingStep& step : setup.plans.context.ring->backward) step.uses_own_keys = true;
}

void ring_masks_as_its_own_keys(const Case&, TrialSetup& setup) {
  if (!setup.plans.context.ring) return;
  for (RingStep& step : setup.plans.context.ring->forward) step.owner = 0;
  for (RingStep& step : setup.plans.context.ring->backward) step.owner = 0;
}

void ring_gradients_not_home(const Case&, TrialSetup& setup) {
  if (!setup.plans.context.ring) return;
  setup.plans.context.ring->backward.back().passes_gradients = false;
}

void ring_stops_early(const Case&, TrialSetup& setup) {
  if (!setup.plans.context.ring) return;
  std::vector<RingStep>& forward = setup.plans.context.ring->forward;
  forward.pop_back();
  forward.back().passes_keys = false;
}

void sink_ignored_by_the_ring(const Case&, TrialSetup& setup) {
  if (setup.plans.context.ring) setup.plans.context.uses_sink = false;
}

// The slice of its own gradient that each rank keeps lacks the others' queries.
Tensor own_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const std::int64_t rows = x.shape[0] / context.group_size(site.group);
  return x.rows(rows * context.group_rank(site.group).value, rows);
}

void gathered_keys_without_backward_sum(const Case&, TrialSetup& setup) {
  if (!setup.plans.context.keys_group) return;
  replace(setup.plans.mappings,
          MappingKind::kGatherKeys,
          {"gather_keys_slice", all_gather_rows, own_rows});
}

void window_ignored(const Case&, TrialSetup& setup) { setup.plans.context.window = 0; }

void summed_over_dp_only(const Case& c, TrialSetup& setup) {
  if (c.layout.cp == 1) return;
  if (c.layout.dp == 1) {
    drop_calls(setup, "finalize.dp_sum.");
    drop_calls(setup, "backward.dp_sum.");
    return;
  }
  for (FinalizeEntry& entry : setup.plans.finalize.entries) {
    if (entry.action == FinalizeAction::kSumBucket) entry.group = GroupKind::kDp;
  }
  for (OverlappedSum& sum : setup.plans.accumulation.sums) sum.group = GroupKind::kDp;
}

std::vector<Defect> sequence_rows() {
  return {
      {.id = "B159-lengths-rounded-down",
       .source = "NVIDIA/TransformerEngine #1930",
       .summary = "packed lengths are rounded down to what the cut over cp asks: last tokens of "
                  "documents vanish",
       .visible_when = both("cp > 1 && packing", kSomeLongDocument),
       .edit = lengths_rounded_down},
      {.id = "S03-labels-shifted-after-the-cut",
       .source = "NVIDIA/Megatron-LM core/utils.py (semantics, section 3)",
       .summary = "labels are the next tokens of a rank's own chunks instead of the sequence's",
       .visible_when = std::string(kOtherLabels),
       .edit = labels_shifted_after_the_cut},
      {.id = "S03-labels-cut-contiguously",
       .source = "NVIDIA/Megatron-LM core/utils.py (semantics, section 3)",
       .summary = "tokens are dealt out zigzag and labels in contiguous parts",
       .visible_when = std::string(kOtherLabels),
       .edit = labels_cut_contiguously},
      {.id = "S03-mask-cut-contiguously",
       .source = "NVIDIA/Megatron-LM core/utils.py (semantics, section 3)",
       .summary = "tokens are dealt out zigzag and the loss mask in contiguous parts",
       .visible_when = both("cp > 1 && !packing && mask == uneven", kMostTargets),
       .edit = mask_cut_contiguously},
      {.id = "S03-cut-by-the-data-rank",
       .source = "NVIDIA/Megatron-LM #7452 findings 5 and 7: a global group used for the explicit "
                 "one",
       .summary = "a rank takes the part of the sequence that its place in dp says, not in cp",
       .visible_when = both("cp > 1", kMostTargets),
       .edit = cut_by_the_data_rank},
      {.id = "B158-rope-table-not-cut",
       .source = "NVIDIA/Megatron-LM #1612",
       .summary = "every cp rank turns its tokens by the first angles of the table",
       .visible_when = both(std::string(kAttentive) + " && position == rope && sliding_window != 1",
                            kAnyAttention),
       .edit = rope_table_not_cut},
      {.id = "B157-packed-rope-table-cut-as-one",
       .source = "NVIDIA/Megatron-LM #5243",
       .summary = "the angles of packed documents are cut over cp as if they were one document",
       .visible_when =
           both(std::string(kAttentive) + " && packing && position == rope", kAnyAttention),
       .edit = rope_table_of_one_document},
      {.id = "B161-documents-see-each-other",
       .source = "axolotl-ai-cloud/axolotl #4002",
       .summary = "attention over packed documents is not told where they end",
       .visible_when = both("packing && attention == causal", kAnyAttention),
       .edit = documents_joined},
      {.id = "Ta-interior-padding-dropped",
       .source = "semantics, section 12, short list (a)",
       .summary = "padding between packed documents is left out: tokens lie before their tables",
       .visible_when = both(kSomePadding, kMostTargets),
       .edit = interior_padding_dropped},
      {.id = "Ta-padding-kept-in-the-mask",
       .source = "semantics, section 12, short list (a); NVIDIA/Megatron-LM #7278",
       .summary = "what packed documents are padded with counts in the loss",
       .visible_when = std::string(kSomePadding),
       .edit = padding_kept_in_the_mask},
  };
}

}  // namespace

std::vector<Defect> context_parallel_rows() {
  std::vector<Defect> rows = {
      {.id = "B166-ring-backward-reads-own-keys",
       .source = "NVIDIA/Megatron-LM #1464",
       .summary = "the ring's backward pass takes the first block of keys at every step",
       .visible_when = both(kOnRing, kAnyAttention),
       .edit = ring_backward_reads_own_keys},
      {.id = "B164-sink-ignored-by-the-ring",
       .source = "NVIDIA/TransformerEngine #3551",
       .summary = "ring attention runs without the learnable sink, whose gradient is exactly zero",
       .visible_when = both(std::string(kOnRing) + " && attention_sink", kAnyTarget),
       .edit = sink_ignored_by_the_ring},
      {.id = "S03-ring-masks-as-its-own-keys",
       .source = "NVIDIA/TransformerEngine context_parallel.py (semantics, section 3)",
       .summary = "keys travel on the ring and the tables that say what a query sees do not",
       .visible_when = both(kOnRing, kAnyAttention),
       .edit = ring_masks_as_its_own_keys},
      {.id = "S03-ring-gradients-not-home",
       .source = "NVIDIA/TransformerEngine context_parallel.py (semantics, section 3)",
       .summary = "gradients of keys and values lack the last hop of the ring",
       .visible_when = both(kOnRing, kAnyAttention),
       .edit = ring_gradients_not_home},
      {.id = "S03-ring-stops-early",
       .source = "NVIDIA/TransformerEngine context_parallel.py (semantics, section 3)",
       .summary = "the forward ring makes one step too few: some keys are never seen",
       .visible_when = both(kOnRing, kAnyAttention),
       .edit = ring_stops_early},
      {.id = "S03-gathered-keys-without-backward-sum",
       .source = "NVIDIA/TransformerEngine context_parallel.py (semantics, section 3)",
       .summary = "keys gathered over cp keep each rank's own gradient instead of the sum",
       .visible_when = both(std::string(kGathered) + " && sliding_window != 1", kMostTargets),
       .edit = gathered_keys_without_backward_sum},
      {.id = "S03-window-ignored",
       .source = "NVIDIA/TransformerEngine context_parallel.py (semantics, section 3)",
       .summary = "attention sees all earlier tokens where the model has a sliding window",
       .visible_when =
           both("attention == causal && !packing && sliding_window in [1, 2, 3, 4, 5, 6, 7, 8] && "
                "seq >= 16",
                kMostTargets),
       .edit = window_ignored},
      {.id = "S05-summed-over-dp-only",
       .source = "NVIDIA/Megatron-LM core/distributed (semantics, section 5.2)",
       .summary = "gradients are summed over dp and not over cp, whose ranks see other tokens",
       .visible_when = both("cp > 1", kAnyTarget),
       .edit = summed_over_dp_only},
  };
  for (Defect& row : sequence_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace lockstep::sim
