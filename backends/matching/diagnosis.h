// Tells in the user's words why ranks wait, who calls what out of turn, and what was left pending.
#pragma once

#include <vector>

#include "backends/matching/channel.h"
#include "backends/matching/finding.h"
#include "core/comm/mesh.h"

namespace lockstep::backends {

// Of ranks all of which wait or have ended: their own errors first, then one finding about calls
// that do not match or about the deadlock, else what is pending. None where all is well.
std::vector<Finding> diagnose(const Mesh& mesh, const LedgerState& state);

}  // namespace lockstep::backends
