// Reads from texts and conditions what an edit will do, before anything runs.
#include "matrix/mutate/mutants.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/errors.h"
#include "core/config/expression.h"
#include "simulator/defects/trial_setup.h"

namespace lockstep::matrix {

std::string mutant_name(const std::string& case_name, const std::string& defect) {
  return case_name + "+" + defect;
}

NamedCase mutant_of(const NamedCase& clean, const sim::Defect& defect) {
  NamedCase mutant{.name = mutant_name(clean.name, defect.id), .c = clean.c, .invalid_reason = ""};
  mutant.c.defects = {defect.id};
  return mutant;
}

MutationPlan plan_mutation(std::span<const NamedCase> cases, std::vector<sim::Defect> defects) {
  const std::size_t num_runs = cases.size() * (defects.size() + 1);
  if (num_runs > kMaxMutationRuns) {
    throw UsageError(fmt::format(
        "{} cases with {} defects are {} runs, more than {}; use --limit, --only or --shard",
        cases.size(),
        defects.size(),
        num_runs,
        kMaxMutationRuns));
  }
  std::vector<Expression> conditions;
  for (const sim::Defect& defect : defects) {
    conditions.push_back(Expression::parse(defect.visible_when));
  }
  MutationPlan plan{.defects = std::move(defects), .runs = {}, .roles = {}};
  plan.runs.reserve(num_runs);
  plan.roles.reserve(num_runs);
  for (const NamedCase& one : cases) {
    const std::size_t clean = plan.runs.size();
    plan.runs.push_back(one);
    plan.roles.push_back({.clean = clean});
    if (!one.invalid_reason.empty()) continue;
    const std::string clean_text = to_text(sim::make_setup(one.c));
    for (std::size_t row = 0; row < plan.defects.size(); ++row) {
      plan.runs.push_back(mutant_of(one, plan.defects[row]));
      const bool is_unchanged = to_text(sim::make_edited_setup(plan.runs.back().c)) == clean_text;
      plan.roles.push_back(
          {.clean = clean,
           .row = row,
           .traits = {.is_unchanged = is_unchanged,
                      // Conditions are of training: an evaluation has nothing that they speak of.
                      .is_visible = !one.c.recipe.forward_only && conditions[row].holds(one.c)}});
    }
  }
  return plan;
}

}  // namespace lockstep::matrix
