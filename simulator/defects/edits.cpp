// Edits of plans.
#include "simulator/defects/edits.h"

namespace lockstep::sim {

void duplicate(FinalizePlan& plan, FinalizeAction action) {
  std::vector<FinalizeEntry> entries;
  for (const FinalizeEntry& entry : plan.entries) {
    entries.push_back(entry);
    if (entry.action == action) entries.push_back(entry);
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
