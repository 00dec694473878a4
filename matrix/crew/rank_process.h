// The process that serves one rank of every trial, from the first order to the goodbye.
#pragma once

#include "matrix/crew/seat_work.h"

namespace lockstep::matrix {

// Returns once the coordinator is gone or has said goodbye. ConnectionLost where it was never
// reached.
void serve_rank(const backends::CoordinatorAddress& coordinator,
                const backends::SeatId& id,
                const MakeSeatWork& make_work);

}  // namespace lockstep::matrix
