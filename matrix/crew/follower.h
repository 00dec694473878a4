// A process that a launcher started beside the one that leads: it looks after the process of its
// rank, on whatever host it is.
#pragma once

#include <string>
#include <vector>

#include "backends/coordinator/client.h"

namespace lockstep::matrix {

struct FollowerOptions {
  int rank = 1;
  backends::CoordinatorAddress coordinator;
  std::vector<std::string> command;  // starts the process of the rank
};

// Returns once the leader has said goodbye. Where its coordinator is lost (a worker that was
// replaced) it ends its process and looks for the next one; ConnectionLost where none comes.
void follow(const FollowerOptions& options);

}  // namespace lockstep::matrix
