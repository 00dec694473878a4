// A process that a launcher started beside the one that leads: it looks after the processes of some
// ranks, on whatever host it is.
#pragma once

#include <string>
#include <vector>

#include "backends/coordinator/client.h"
#include "matrix/crew/seats.h"

namespace lockstep::matrix {

struct FollowerOptions {
  int process = 1;  // as the launcher numbers them
  backends::CoordinatorAddress coordinator;
  SeatKind kind = SeatKind::kProcesses;
  // Starts a rank's process, or that of all ranks here; the leader may add words.
  std::vector<std::string> command;
  std::string arrival = {};  // what the leader is told of this process
};

// Returns once the leader has said goodbye. Where its coordinator is lost (a worker that was
// replaced) it ends its processes and looks for the next one; ConnectionLost where none comes, soon
// where the leader does not listen any more.
void follow(const FollowerOptions& options);

}  // namespace lockstep::matrix
