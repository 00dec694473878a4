// Masters put together over the layout, and one step of the reference from there.
#include "matrix/sweep/own_steps.h"

#include <optional>
#include <utility>

#include "core/snapshot/assemble.h"
#include "matrix/reference/reference.h"
#include "simulator/checks/holdings.h"

namespace lockstep::matrix {
namespace {

using Tensors = std::vector<sim::OracleTensor>;

// After `step`; none where a tensor lacks an element or has another shape than the reference's.
std::optional<Tensors> masters_after(std::size_t step,
                                     const sim::TrialResult& trial,
                                     const Tensors& like) {
  if (trial.c.recipe.forward_only) return like;  // nothing has changed them
  const sim::TensorKind kind =
      sim::has_masters(trial.c.recipe) ? sim::TensorKind::kMaster : sim::TensorKind::kParameter;
  Tensors masters;
  masters.reserve(like.size());
  for (std::size_t i = 0; i < like.size(); ++i) {
    Assembly assembly = assemble(
        sim::shards_of(trial, {.kind = kind, .step = step, .index = i, .name = like[i].name}));
    if (!assembly.problem.empty() || assembly.values.size() != like[i].values.size()) {
      return std::nullopt;
    }
    masters.push_back(
        {.name = like[i].name, .shape = like[i].shape, .values = std::move(assembly.values)});
  }
  return masters;
}

}  // namespace

std::vector<sim::OracleStep> steps_from_own_masters(const Case& c,
                                                    const sim::TrialResult& trial,
                                                    const sim::Oracle& reference) {
  std::vector<sim::OracleStep> steps = reference.steps;
  for (std::size_t step = 1; step < steps.size(); ++step) {
    const std::optional<Tensors> masters =
        masters_after(step - 1, trial, reference.initial_parameters);
    if (!masters.has_value()) break;
    Tensors parameters = std::move(steps[step].parameters);
    steps[step] = compute_reference_step(c, static_cast<std::int64_t>(step), *masters);
    steps[step].parameters = std::move(parameters);
  }
  return steps;
}

}  // namespace lockstep::matrix
