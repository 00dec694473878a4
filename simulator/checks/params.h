// Check params: parameters after each step equal the reference.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_params(const TrialResult& trial, const Oracle& oracle);

}  // namespace lockstep::sim
