// Gradients of what tensor ranks hold in copies: not summed, summed too often, or averaged.
#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

bool any(const ParameterSpec&) { return true; }

// The table tells no row-parallel bias from a norm's by its placement.
bool is_row_bias(const ParameterSpec& spec) {
  return spec.name.ends_with(".linear_proj.bias") || spec.name.ends_with(".linear_fc2.bias");
}

// What sequence parallelism alone makes a term of a sum: all but the head norms.
bool is_of_own_tokens(const ParameterSpec& spec) { return !is_head_norm(spec); }

void split_step_skips_tp_sum(const Case& c, TrialSetup& setup) {
  if (c.recipe.step_api == StepApi::kSplit) drop_tp_sums(setup.plans, any);
}

void sequence_norms_not_summed(const Case&, TrialSetup& setup) {
  drop_tp_sums(setup.plans, is_of_own_tokens);
}

// Where tokens are cut every copy is flagged, so that a name that no longer matches is not missed.
void renamed_head_norms(const Case& c, TrialSetup& setup) {
  if (!c.layout.sp) drop_tp_sums(setup.plans, is_head_norm);
}

void averaged_over_tp(const Case& c, TrialSetup& setup) {
  std::vector<FinalizeEntry> entries;
  for (const FinalizeEntry& entry : setup.plans.finalize.entries) {
    entries.push_back(entry);
    if (entry.action != FinalizeAction::kSumParameter) continue;
    const ParameterSpec& spec = setup.plans.table[static_cast<std::size_t>(entry.parameter.value)];
    if (!is_of_own_tokens(spec)) continue;
    entries.push_back({.label = "finalize.tp_average." + spec.name,
                       .action = FinalizeAction::kScaleParameter,
                       .parameter = entry.parameter,
                       .factor = 1.0 / static_cast<double>(c.layout.tp)});
  }
  setup.plans.finalize.entries = std::move(entries);
}

// By the flag alone, though every rank has seen all tokens.
void summed_without_sequence_parallel(const Case& c, TrialSetup& setup) {
  if (c.layout.tp == 1 || c.layout.sp || c.recipe.forward_only) return;
  const ParameterTable& table = setup.plans.table;
  std::vector<FinalizeEntry>& entries = setup.plans.finalize.entries;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].cut.has_value() || is_partial_over_tp(table[i])) continue;
    entries.push_back({.label = "finalize.tp_sum." + table[i].name,
                       .action = FinalizeAction::kSumParameter,
                       .group = GroupKind::kTp,
                       .parameter = {static_cast<int>(i)}});
  }
}

void row_bias_not_summed(const Case&, TrialSetup& setup) { drop_tp_sums(setup.plans, is_row_bias); }

}  // namespace

std::vector<Defect> replicated_gradient_rows() {
  return {
      {.id = "B01-split-step-skips-tp-sum",
       .source = "NVIDIA-NeMo/RL #3716",
       .summary =
           "the split step finishes by hand and never sums over tp what ranks hold in copies "
           "and see in part",
       .visible_when = "tp > 1 && step_api == split && (" + both("sp", kAnyTarget) + " || " +
                       both(kHeadNorms, kAnyAttention) + ")",
       .edit = split_step_skips_tp_sum},
      {.id = "B90-sequence-norms-not-summed",
       .source = "EleutherAI/gpt-neox #1257, pytorch/torchtitan #2532",
       .summary =
           "under sequence parallelism gradients of norms and row-parallel biases stay those "
           "of each rank's own tokens",
       .visible_when = both("tp > 1 && sp", kAnyTarget),
       .edit = sequence_norms_not_summed},
      {.id = "T08-head-norms-matched-by-old-name",
       .source = "semantics, section 12, trap 8; NVIDIA/Megatron-LM #7452 finding 11",
       .summary = "query and key norms are summed over tp by a name that they no longer have",
       .visible_when = both("tp > 1 && !sp && " + std::string(kHeadNorms), kAnyAttention),
       .edit = renamed_head_norms},
      {.id = "T09-row-bias-not-summed",
       .source = "semantics, section 2.3 and section 12, trap 9",
       .summary =
           "under sequence parallelism the bias of a row-parallel map lacks the flag that has "
           "its gradient summed over tp",
       .visible_when = both("tp > 1 && sp && bias", kAnyTarget),
       .edit = row_bias_not_summed},
      {.id = "T09-sequence-norms-averaged",
       .source = "semantics, section 12, trap 9",
       .summary =
           "terms of a sum over tokens are averaged over tp as if every rank had computed the "
           "whole",
       .visible_when = both("tp > 1 && sp", kAnyTarget),
       .edit = averaged_over_tp},
      {.id = "T09-summed-without-sequence-parallel",
       .source = "semantics, section 12, trap 9",
       .summary = "norms are summed over tp because they are flagged, though tokens are not cut",
       .visible_when = both("tp > 1 && !sp", kAnyTarget),
       .edit = summed_without_sequence_parallel},
  };
}

}  // namespace lockstep::sim
