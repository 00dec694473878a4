// Check loss: per-micro-batch, global and reported losses equal the reference and agree between
// ranks.
//
// error = |difference| / max(|reference|, 1e-3); target counts and ranks among each other: bitwise.
// Below f64 the bound is the single-device rule's over all losses of the step.
// cp ranks of one micro-batch have tokens of their own: over them, in their order, loss sums and
// target counts are added up: what one of them has alone is held against nothing but its copies.
// For each step it expects
//   by micro-batch, 2 tp: loss and target count of each tp rank, over its cp ranks;
//   by micro-batch, cp (tp - 1): agreement of each cp rank's own sum over tp, and where cp > 1 the
//   same for its own count, which is then a term of the sum that was exact;
//   2 (2 world - 1): global and reported loss of every rank, and their agreement;
//   world: the reported target count of every rank, which being exact agrees.
#pragma once

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

CheckResult check_loss(const TrialResult& trial, const MeasuredOracle& oracle);

}  // namespace lockstep::sim
