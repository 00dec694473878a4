// What a single device computes of a case, in the case's own precision: the measure below f64.
#pragma once

#include <vector>

#include "core/config/case.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

// The same model, data and recipe on one rank, without defects and in the plainest order.
Case on_single_device(const Case& c);

// The steps of a finished trial of one rank, as an oracle has them.
std::vector<sim::OracleStep> oracle_steps_of(const sim::TrialResult& trial);

// Runs it. InternalError where it does not finish.
std::vector<sim::OracleStep> run_on_single_device(const Case& c);

}  // namespace lockstep::matrix
