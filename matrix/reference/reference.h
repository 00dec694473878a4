// The independent oracle: a dense float64 model in plain loops with a hand-written backward.
//
// Shares no code with the core's ops, autograd, layers, losses or optimizer; only the case, the
// data generator and parameter names.
#pragma once

#include "core/config/case.h"
#include "simulator/checks/oracle.h"

namespace lockstep::matrix {

// Trains the case's model on one device for its steps. The layout plays no part.
sim::Oracle compute_reference(const Case& c);

}  // namespace lockstep::matrix
