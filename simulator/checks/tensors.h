// Holds what every rank has of each tensor against the oracle, put together over the layout.
//
// Every holder is compared, not only the first: a bug on one replica does not hide behind another.
#pragma once

#include <string>

#include "simulator/checks/check_result.h"
#include "simulator/checks/holdings.h"

namespace lockstep::sim {

// Expects one comparison for each (step, tensor, rank that should hold it). A place is a tensor;
// its ranks are those whose own values are wrong.
CheckResult compare_tensors(const std::string& check,
                            const TrialResult& trial,
                            const Oracle& oracle,
                            TensorKind kind);

}  // namespace lockstep::sim
