// Edits of plans.
#include "simulator/defects/edits.h"

namespace lockstep::sim {

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

void drop_calls(TrialSetup& setup, const std::string& label) {
  setup.dropped_calls.push_back(label);
}

void replace(MappingTable& table, MappingKind kind, const Mapping& variant) {
  Mapping& mapping = table.of(kind);
  if (mapping.name == name_of(kind)) mapping = variant;
}

}  // namespace lockstep::sim
