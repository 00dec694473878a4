// The params check: the comparison of tensors, for parameters after updates.
#include "simulator/checks/params.h"

#include "simulator/checks/holdings.h"
#include "simulator/checks/tally.h"
#include "simulator/checks/tensors.h"

namespace lockstep::sim {

CheckResult check_params(const TrialResult& trial, const MeasuredOracle& oracle) {
  if (trial.c.recipe.forward_only) return not_applicable("params", kForwardOnlyReason);
  if (trial.c.recipe.dtype != Precision::kF64) {
    return not_applicable(
        "params",
        "below f64 AdamW turns the sign of a tiny gradient into a whole step: see update");
  }
  return compare_tensors("params",
                         trial,
                         oracle,
                         {.kind = TensorKind::kParameter,
                          .reference = &OracleStep::parameters,
                          .measures = &StepMeasures::parameters});
}

}  // namespace lockstep::sim
