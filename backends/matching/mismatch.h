// Tells which members of a group call something else than the others do.
#pragma once

#include "backends/matching/finding.h"
#include "backends/matching/rank_text.h"

namespace lockstep::backends {

// One finding about all meetings that did not match; there is at least one.
Finding mismatch(const RankTexts& texts);

}  // namespace lockstep::backends
