// Check params: parameters after each step equal the reference, in f64.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_params(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
