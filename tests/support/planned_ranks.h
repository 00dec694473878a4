// Ranks whose calls are planned as for NCCL and carried out by plain loops in memory: what a plan
// comes to is seen without a GPU.
#pragma once

#include <functional>

#include "tests/support/coordinated_ranks.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

// A plan that asks for what NCCL does not allow ends its rank: counts that differ, buffers that
// overlap and do not lie in place, a maximum of reals.
backends::TrialOutcome run_planned_ranks(const Layout& layout,
                                         const std::function<void(TestRank&)>& program);

}  // namespace lockstep::test
