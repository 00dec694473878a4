// The independent oracle: a dense float64 model in plain loops with a hand-written backward.
//
// Shares no code with the core's ops, autograd, layers, losses or optimizer; only the case, the
// data generator and parameter names.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/case.h"
#include "simulator/checks/oracle.h"

namespace lockstep::matrix {

// Trains the case's model on one device for its steps, or only evaluates it: then no step has
// gradients or parameters. The layout plays no part.
sim::Oracle compute_reference(const Case& c);

// One step, counted from 0, from the given parameters in the order of the reference's list. What
// the update makes is left empty.
sim::OracleStep compute_reference_step(const Case& c,
                                       std::int64_t number,
                                       const std::vector<sim::OracleTensor>& parameters);

}  // namespace lockstep::matrix
