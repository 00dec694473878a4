// Probes: what the norm and zero-count plans say of planted gradients, which is known exactly.
//
// N elements of P parameters, padding aside: "probe.ones" (ones everywhere) has norm sqrt(N) and no
// zeros; "probe.single.<parameter>" (a one in that parameter, zeros elsewhere) norm 1 and N - 1
// zeros; "probe.zeros" (ones, but a zero in every parameter) norm sqrt(N - P) and P zeros. Sums of
// ones are exact, so equality is.
#pragma once

#include "simulator/checks/measured_oracle.h"
#include "simulator/checks/tally.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

// Expects of every rank the norm and the zeros of ones, zeros, of a single one in a parameter that
// is cut and in one that is not (where the model has it), and of whatever else the ranks planted.
void compare_probes(const TrialResult& trial, const MeasuredOracle& oracle, Tally& tally);

}  // namespace lockstep::sim
