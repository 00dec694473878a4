// Processes that this one starts, a worker or a host with its pipes or a child without; and how
// they ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep::matrix {

// Starts `command`; the caller owns the three descriptors and reaps the process.
struct StartedProcess {
  pid_t pid;
  int requests;  // its standard input
  int answers;   // its standard output
  int words;     // its standard error
};

// LaunchError where the program cannot be started.
StartedProcess start_process(const std::vector<std::string>& command);

// Starts `command` with this process' errors as its own; the caller owns both descriptors and reaps
// the process. Reading notices never waits.
struct StartedHost {
  pid_t pid;
  int orders;   // its standard input
  int notices;  // its standard output
};

// LaunchError where the program cannot be started.
StartedHost start_host(const std::vector<std::string>& command);

// Starts `command` with nothing on its standard input and this process' output and errors as its
// own. LaunchError where it cannot be started.
pid_t start_child(const std::vector<std::string>& command);

// Whether the process has ended; end_process still tells how.
bool has_ended(pid_t pid);

// Kills what still lives, waits for the end, and tells it: "killed by signal 11 (Segmentation
// fault)", "exited with code 3".
std::string end_process(pid_t pid);

}  // namespace lockstep::matrix
