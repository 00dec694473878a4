// How far a single device is from the reference in a case's own precision: the measure below f64.
#pragma once

#include <vector>

#include "core/config/case.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

// What a finished trial of one rank holds, less what the reference computes from where it stood.
std::vector<sim::OracleStep> differences(const sim::TrialResult& trial,
                                         const std::vector<sim::OracleStep>& reference);

// Of several draws of a single device's rounding, number by number.
struct SingleDeviceDifferences {
  std::vector<sim::OracleStep> usual;  // root mean square
  std::vector<sim::OracleStep> mean;
};

// Runs the case on a single device. InternalError where it does not finish.
SingleDeviceDifferences single_device_differences(const Case& c, const sim::Oracle& reference);

}  // namespace lockstep::matrix
