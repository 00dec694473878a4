// Connects, then serves.
#include "matrix/crew/rank_process.h"

namespace lockstep::matrix {

void serve_rank(const backends::CoordinatorAddress& coordinator,
                const backends::SeatId& id,
                const MakeSeatWork& make_work) {
  bind_to_parent();
  backends::CoordinatorClient client(
      {.address = coordinator, .seat = id.seat, .generation = id.generation});
  serve_trials(client, make_work(client));
}

}  // namespace lockstep::matrix
