// Check loss: per-micro-batch and global losses equal the reference and agree between ranks.
//
// error = |difference| / max(|reference|, 1e-3); target counts and ranks among each other: bitwise.
// Below f64 the bound is the single-device rule's over all losses of the step.
// For each step it expects, by micro-batch, a loss and a target count of each rank that computes it
// and their agreement, and one global loss of every rank and their agreement.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_loss(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
