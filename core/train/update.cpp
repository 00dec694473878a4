// The update plan and its executor.
#include "core/train/update.h"

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"

namespace lockstep {

UpdatePlan plan_update(const ParameterTable& table, const Recipe& recipe) {
  LOCKSTEP_CHECK(recipe.optimizer == Optimizer::kSgd, "only SGD updates are built");
  UpdatePlan plan;
  for (std::size_t i = 0; i < table.size(); ++i) {
    plan.entries.push_back(
        {.label = "update." + table[i].name, .parameter = {static_cast<int>(i)}, .lr = recipe.lr});
  }
  return plan;
}

std::string to_text(const UpdatePlan& plan) {
  std::string text;
  for (const UpdateEntry& entry : plan.entries) {
    text +=
        fmt::format("{}: parameter {}, sgd lr {}\n", entry.label, entry.parameter.value, entry.lr);
  }
  return text;
}

void update_parameters(const OpContext& ops,
                       const UpdatePlan& plan,
                       const Parameters& parameters,
                       const GradientBuckets& gradients) {
  for (const UpdateEntry& entry : plan.entries) {
    sgd_update(ops,
               {.parameter = parameters[entry.parameter].value,
                .gradient = gradients.main_gradient(entry.parameter),
                .lr = entry.lr},
               entry.label);
  }
}

}  // namespace lockstep
