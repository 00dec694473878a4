// This process's place among those that a launcher started, and where rank 0 is to be found.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/launch/environment.h"

namespace lockstep::matrix {

struct Place {
  int rank;
  int num_processes;  // may be 1: a launcher of one process
  int local_rank;     // on its host
  std::string host;   // where rank 0 listens: a name or an address
  int port;
  std::string launcher;  // "torchrun", "mpirun" or "srun"

  bool operator==(const Place&) const = default;
};

// None where no launcher is seen: the command runs alone. The order of launchers and of what tells
// host and port is in README.md. UsageError for values that are wrong or contradict each other.
std::optional<Place> plan_place(const Environment& environment);

// "node01" of "node[01-04,7],other": Slurm's short form of a list of hosts. UsageError, naming
// `variable`, where it is none.
std::string first_host(std::string_view list, std::string_view variable);

}  // namespace lockstep::matrix
