// Check replicas: what several ranks hold of one tensor is bitwise equal.
//
// Ranks that hold the same elements of a gradient (after finalisation, and after clipping), of a
// parameter, its master or its moments (after the update) are replicas. A tensor that is cut over
// tp has tp groups of world / tp replicas, another one group of all ranks; a group of n makes n - 1
// comparisons. Equal NaN bits are equal. Parts of a tensor must be equal or disjoint, and together
// the whole.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_replicas(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
