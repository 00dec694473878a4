// One worker process: starting it, its pipes, and how it ended.
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

// Kills what still lives, waits for the end, and tells it: "killed by signal 11 (Segmentation
// fault)", "exited with code 3".
std::string end_process(pid_t pid);

}  // namespace lockstep::matrix
