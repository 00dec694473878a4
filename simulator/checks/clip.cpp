// The clip check: the comparison of tensors, for gradients after clipping.
#include "simulator/checks/clip.h"

#include "simulator/checks/holdings.h"
#include "simulator/checks/tally.h"
#include "simulator/checks/tensors.h"

namespace lockstep::sim {

CheckResult check_clip(const TrialResult& trial, const MeasuredOracle& oracle) {
  if (trial.c.recipe.forward_only) return not_applicable("clip", kForwardOnlyReason);
  if (trial.c.recipe.clip == 0.0) {
    return not_applicable("clip", "the recipe does not clip gradients");
  }
  return compare_tensors("clip",
                         trial,
                         oracle,
                         {.kind = TensorKind::kClippedGradient,
                          .reference = &OracleStep::clipped_gradients,
                          .measures = &StepMeasures::clipped_gradients,
                          .is_by_any_factor = true});
}

}  // namespace lockstep::sim
