// What the reference computes from where a run itself stood at each step: what f32 and bf16 are
// held against.
#pragma once

#include <vector>

#include "core/config/case.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

// The reference's steps with each but the first started from the masters that the finished trial
// held before it, put together. Parameters are left as the reference's own, for their names and
// shapes. From a step on whose masters cannot be put together the reference's own steps stand: the
// checks of the step before have failed.
std::vector<sim::OracleStep> steps_from_own_masters(const Case& c,
                                                    const sim::TrialResult& trial,
                                                    const sim::Oracle& reference);

}  // namespace lockstep::matrix
