// What a step of a precision below f64 may be off because the parameters that it starts from are.
//
// Where a gradient is near 0, AdamW makes up to a whole step of lr out of the last bit of it: such
// elements are few in f32, fall elsewhere in each run, and lie far beyond what rounding does. The
// update check vouches for how a run came by its parameters; from there, what they are off by
// counts as a floor of what the step's values may be off.
#pragma once

#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

// The worst relative block error of the run's masters before the step; 0 in f64, at the first step
// and where they cannot be put together.
double inherited_error(const TrialResult& trial, const MeasuredOracle& oracle, std::size_t step);

}  // namespace lockstep::sim
