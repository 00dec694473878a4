// Edits of plans.
#include "simulator/defects/edits.h"

namespace lockstep::sim {
namespace {

const ParameterSpec& spec_of(const ParameterTable& table, ParameterId parameter) {
  return table.at(static_cast<std::size_t>(parameter.value));
}

}  // namespace

void sum_buckets_again(FinalizePlan& plan) {
  std::vector<FinalizeEntry> entries;
  for (const FinalizeEntry& entry : plan.entries) {
    entries.push_back(entry);
    const bool is_sum = entry.action == FinalizeAction::kSumBucket;
    if (!is_sum && entry.action != FinalizeAction::kWaitBucket) continue;
    entries.push_back({.label = "finalize.dp_sum.bucket" + std::to_string(entry.bucket.value),
                       .action = FinalizeAction::kSumBucket,
                       .group = entry.group,
                       .bucket = entry.bucket});
  }
  plan.entries = std::move(entries);
}

void rescale(FinalizePlan& plan, double factor) {
  for (FinalizeEntry& entry : plan.entries) {
    const bool scales =
        entry.action == FinalizeAction::kScale || entry.action == FinalizeAction::kScaleByTargets;
    if (scales) entry.factor *= factor;
  }
}

bool is_partial_over_tp(const ParameterSpec& spec) {
  return spec.gradient_on(Axis::kTp) == PlacementKind::kPartial;
}

bool is_head_norm(const ParameterSpec& spec) {
  return spec.name.find(".q_layernorm.") != std::string::npos ||
         spec.name.find(".k_layernorm.") != std::string::npos;
}

void drop_tp_sums(Plans& plans, ChosenParameters chosen) {
  std::erase_if(plans.finalize.entries, [&](const FinalizeEntry& entry) {
    return entry.action == FinalizeAction::kSumParameter && entry.group == GroupKind::kTp &&
           chosen(spec_of(plans.table, entry.parameter));
  });
}

void count_on_first_rank(CountPlan& plan, const ParameterTable& table, ChosenParameters chosen) {
  // Without a sum there is no other rank.
  if (plan.sums.empty()) return;
  for (CountEntry& entry : plan.entries) {
    if (chosen(spec_of(table, entry.parameter))) entry.copies = GroupKind::kTp;
  }
}

void drop_calls(TrialSetup& setup, std::string_view label) {
  setup.dropped_calls.push_back(std::string(label));
}

void replace(MappingTable& table, MappingKind kind, const Mapping& variant) {
  Mapping& mapping = table.of(kind);
  if (mapping.name == name_of(kind)) mapping = variant;
}

}  // namespace lockstep::sim
