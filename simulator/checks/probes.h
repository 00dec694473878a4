// Probes: what the count plans say of planted values (core/train/probes.h), which is known exactly.
//
// With N elements in all, padding aside, and n of them in a parameter: ones everywhere have norm
// sqrt(N), ones in that parameter alone sqrt(n), a single one 1; zeros in that parameter alone are
// n, and with one in each parameter they are as many as parameters. Sums of ones are exact, so
// equality is.
#pragma once

#include "simulator/checks/measured_oracle.h"
#include "simulator/checks/tally.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

// Expects of every rank all that core/train/probes.h plants, a single one in a parameter that is
// cut and in one that is not (where the model has it), and whatever else the ranks planted. A place
// is the parameter and the plan that miscounts it.
void compare_probes(const TrialResult& trial, const MeasuredOracle& oracle, Tally& tally);

}  // namespace lockstep::sim
