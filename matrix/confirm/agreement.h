// Two trials of one case on different backends, held against each other number by number.
//
// Every rank's losses, activations, gradients, norms, parameters and optimizer state of every step
// against the same rank's of the other trial. Tensors by the block error of the rank's own shard
// (simulator/checks/block_error.h), losses and norms by the errors of their checks. NaN against NaN
// and infinity against the same infinity are no difference: that is for the other checks to judge.
#pragma once

#include <string_view>

#include "simulator/checks/check_result.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

inline constexpr const char* kAgreement = "agreement";

// Of f64, for a trial that computed on this device ("cpu", "cuda"). On the CPU the kernels are
// those of the simulated trial, and only sums over ranks may be taken in another order. On a GPU
// all of the arithmetic is another implementation's, as is the reference's: there the bound is that
// of the checks against the reference.
double agreement_bound(std::string_view device);

// The worst place is the largest difference. Below f64 the order of sums shows: finite differences
// above 0 are told with an infinite bound and not judged (n/a), but what is missing or not finite
// on one side only fails. Where no trial finished, n/a if both ended in the same kind of finding,
// else a failure; where one did, n/a: the verdicts tell it.
sim::CheckResult agreement(const sim::TrialResult& simulated,
                           const sim::TrialResult& other,
                           double bound);

}  // namespace lockstep::matrix
