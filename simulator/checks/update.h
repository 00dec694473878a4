// Check update: the optimizer's arithmetic in f64, from this run's own clipped gradients, masters
// and moments before, gives its masters and moments after; parameters are the masters rounded.
//
// Each element may differ by what the operations on it may round off (rounding_allowance.h); error
// and bound are in ulps of the largest term that goes into it. Expects one comparison for each
// (step, tensor, rank that should hold it) of masters, of each moment, and of rounded parameters.
// Where the arithmetic moves some elements of a master, at least one must move, however small lr
// is.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_update(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
