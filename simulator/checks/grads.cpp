// The grads check: the comparison of tensors, for gradients.
#include "simulator/checks/grads.h"

#include "simulator/checks/tensors.h"

namespace lockstep::sim {

CheckResult check_grads(const TrialResult& trial, const Oracle& oracle) {
  return compare_tensors("grads", trial, oracle, TensorKind::kGradient);
}

}  // namespace lockstep::sim
