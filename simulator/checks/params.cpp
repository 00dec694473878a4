// The params check: the comparison of tensors, for parameters after updates.
#include "simulator/checks/params.h"

#include "simulator/checks/tensors.h"

namespace lockstep::sim {

CheckResult check_params(const TrialResult& trial, const Oracle& oracle) {
  return compare_tensors("params", trial, oracle, TensorKind::kParameter);
}

}  // namespace lockstep::sim
