// Check clip: every parameter's clipped gradient equals the reference.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_clip(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
