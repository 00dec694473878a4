// Two trials of one case on different backends, held against each other number by number.
//
// Every rank's losses, activations, gradients, norms, parameters and optimizer state of every step
// against the same rank's of the other trial. Tensors by the block error of the rank's own shard
// (simulator/checks/block_error.h), losses and norms by the errors of their checks. NaN against NaN
// and infinity against the same infinity are no difference: that is for the other checks to judge.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

inline constexpr const char* kAgreement = "agreement";

// Of f64; backends may add up in different orders.
inline constexpr double kAgreementBound = 1e-12;

// The worst place is the largest difference. Below f64 the order of sums shows: finite differences
// above 0 are told with an infinite bound and not judged (n/a), but what is missing or not finite
// on one side only fails. Where no trial finished, n/a if both ended in the same kind of finding,
// else a failure; where one did, n/a: the verdicts tell it.
sim::CheckResult agreement(const sim::TrialResult& simulated, const sim::TrialResult& other);

}  // namespace lockstep::matrix
