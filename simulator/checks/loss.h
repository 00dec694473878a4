// Check loss: per-micro-batch and global losses equal the reference and agree between ranks.
//
// error = |difference| / max(|reference|, 1e-3); target counts and ranks among each other: bitwise.
// For each step it expects, by micro-batch, a loss and a target count of each rank that computes it
// and their agreement, and one global loss of every rank and their agreement.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_loss(const TrialResult& trial, const Oracle& oracle);

}  // namespace lockstep::sim
