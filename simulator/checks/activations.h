// Check activations: what modules put out, put together over the layout, equals the reference.
//
// Tells the first module in execution order that differs, with its micro-batches: what differs
// after it follows from it. Expects one comparison for each (step, micro-batch, module, rank that
// computes the micro-batch).
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_activations(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
