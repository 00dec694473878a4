// Where ranks can sit: starting and ending the processes and threads that serve them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/coordinator/coordinator.h"

namespace lockstep::matrix {

class Seats {
 public:
  virtual ~Seats() = default;

  // Seats of one process have the same number: they end together.
  virtual int process_of(int seat) const = 0;
  // Starts what serves a seat; it connects to the coordinator by itself. LaunchError where it
  // cannot be started.
  virtual void start(const backends::SeatId& id) = 0;
  // Kills the seat's process, waits for the end, and tells it: "killed by signal 9 (Killed)". Of a
  // seat whose thread has ended by itself only that is told, and the process serves its other
  // seats; it goes with the last of them.
  virtual std::string end(const backends::SeatId& id) = 0;
  // The first of these that has ended by itself, where that is known here: "the process of rank 2
  // has ended: exited with code 3".
  virtual std::optional<std::string> early_end(const std::vector<backends::SeatId>& ids) = 0;
};

enum class SeatKind {
  kProcesses,  // each seat is a process
  kThreads,    // all seats are threads of one process
};

// Seats on this machine: children of this process, which never outlive it. `command` starts one.
std::unique_ptr<Seats> make_local_seats(SeatKind kind, const std::vector<std::string>& command);

}  // namespace lockstep::matrix
