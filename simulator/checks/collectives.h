// Check collectives: every call matched, none was left pending, no rank waits for ever.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_collectives(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
