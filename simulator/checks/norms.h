// Check norms: the norms of gradients and parameters are right, on every rank to the bit; so are
// probes, planted gradients whose norm and zeros are known exactly.
//
// Expects for each step and norm a comparison of every rank with the reference, and of all ranks
// but one with the first; and one of every rank for each probe. Below f64 norms
// are also held against this run's own tensors, to the bound of f64: norms are sums in f64 in any
// precision.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_norms(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
