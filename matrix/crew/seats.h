// Where ranks can sit: starting and ending the processes that serve them.
#pragma once

#include <optional>
#include <string>

#include "backends/coordinator/coordinator.h"

namespace lockstep::matrix {

class Seats {
 public:
  virtual ~Seats() = default;

  // Starts the process of a seat; it connects to the coordinator by itself. LaunchError where it
  // cannot be started.
  virtual void start(const backends::SeatId& id) = 0;
  // Kills what still lives, waits for the end, and tells it: "killed by signal 9 (Killed)".
  virtual std::string end(const backends::SeatId& id) = 0;
  // The first of these whose process has ended by itself, where that is known here: "the process of
  // rank 2 has ended: exited with code 3".
  virtual std::optional<std::string> early_end(const std::vector<backends::SeatId>& ids) = 0;
};

}  // namespace lockstep::matrix
