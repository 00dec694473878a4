// The update plan and its executor.
#include "core/train/update.h"

#include <fmt/format.h>

#include "core/ops/optimizer.h"

namespace lockstep {
namespace {

UpdateEntry entry_of(const ParameterSpec& spec, ParameterId parameter, const Recipe& recipe) {
  UpdateEntry entry{.label = "update." + spec.name,
                    .parameter = parameter,
                    .lr = recipe.lr,
                    .weight_decay = spec.full_shape.size() == 1 ? 0.0 : recipe.weight_decay};
  if (recipe.optimizer == Optimizer::kAdamW) {
    entry.beta1 = recipe.betas.at(0);
    entry.beta2 = recipe.betas.at(1);
    entry.eps = recipe.adam_eps;
  }
  return entry;
}

void update_sgd(const OpContext& ops,
                const UpdateEntry& entry,
                const GradientBuckets& gradients,
                const OptimizerState& state) {
  const auto index = static_cast<std::size_t>(entry.parameter.value);
  sgd_update(ops,
             {.gradient = gradients.main_gradient(entry.parameter),
              .master = state.masters()[index],
              .parameter = state.parameters()[index],
              .lr = entry.lr,
              .weight_decay = entry.weight_decay},
             entry.label);
}

void update_adamw(const OpContext& ops,
                  const UpdateEntry& entry,
                  std::int64_t number,
                  const GradientBuckets& gradients,
                  const OptimizerState& state) {
  const auto index = static_cast<std::size_t>(entry.parameter.value);
  adamw_update(ops,
               {.gradient = gradients.main_gradient(entry.parameter),
                .master = state.masters()[index],
                .exp_avg = state.exp_avg()[index],
                .exp_avg_sq = state.exp_avg_sq()[index],
                .parameter = state.parameters()[index],
                .lr = entry.lr,
                .beta1 = entry.beta1,
                .beta2 = entry.beta2,
                .eps = entry.eps,
                .weight_decay = entry.weight_decay,
                .step = number},
               entry.label);
}

}  // namespace

UpdatePlan plan_update(const ParameterTable& table, const Recipe& recipe) {
  const DType dtype = dtype_of(recipe.dtype);
  const bool updates = !recipe.forward_only;
  UpdatePlan plan{.state = {.optimizer = recipe.optimizer,
                            .masters = accumulation_type(dtype) != dtype,
                            .moments = updates && recipe.optimizer == Optimizer::kAdamW},
                  .entries = {}};
  if (!updates) return plan;
  for (std::size_t i = 0; i < table.size(); ++i) {
    plan.entries.push_back(entry_of(table[i], {static_cast<int>(i)}, recipe));
  }
  return plan;
}

std::string to_text(const UpdatePlan& plan) {
  const bool is_adamw = plan.state.optimizer == Optimizer::kAdamW;
  std::string text = fmt::format("update: {}{}{}",
                                 is_adamw ? "adamw" : "sgd",
                                 plan.state.moments ? " with moments" : "",
                                 plan.state.masters ? " on masters" : "");
  if (is_adamw) text += fmt::format(", the first counts as {}", plan.first_update);
  text += "\n";
  for (const UpdateEntry& entry : plan.entries) {
    text += fmt::format("{}: parameter {}, lr {}, weight decay {}",
                        entry.label,
                        entry.parameter.value,
                        entry.lr,
                        entry.weight_decay);
    if (is_adamw) {
      text += fmt::format(", betas {} {}, eps {}", entry.beta1, entry.beta2, entry.eps);
    }
    text += "\n";
  }
  return text;
}

void update_parameters(const OpContext& ops,
                       const UpdatePlan& plan,
                       const GradientBuckets& gradients,
                       OptimizerState& state) {
  const std::int64_t number = plan.first_update + state.num_updates();
  for (const UpdateEntry& entry : plan.entries) {
    switch (plan.state.optimizer) {
      case Optimizer::kSgd:
        update_sgd(ops, entry, gradients, state);
        break;
      case Optimizer::kAdamW:
        update_adamw(ops, entry, number, gradients, state);
        break;
    }
  }
  state.count_update();
}

}  // namespace lockstep
