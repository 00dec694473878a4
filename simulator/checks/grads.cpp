// The grads check: the comparison of tensors, for gradients.
#include "simulator/checks/grads.h"

#include "simulator/checks/holdings.h"
#include "simulator/checks/tally.h"
#include "simulator/checks/tensors.h"

namespace lockstep::sim {

CheckResult check_grads(const TrialResult& trial, const MeasuredOracle& oracle) {
  if (trial.c.recipe.forward_only) return not_applicable("grads", kForwardOnlyReason);
  return compare_tensors("grads",
                         trial,
                         oracle,
                         {.kind = TensorKind::kGradient,
                          .reference = &OracleStep::gradients,
                          .measures = &StepMeasures::gradients});
}

}  // namespace lockstep::sim
