// Runs the built command as a user does, and tells what came of it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep::test {

struct CommandOutcome {
  int exit_code = -1;  // 128 + the signal where one ended it
  std::string out;
  std::string err;
};

// In `folder`, with standard output and error caught.
CommandOutcome run_lockstep(const std::vector<std::string>& words, const std::string& folder);

// The same without waiting: out and err go to files OUT and ERR of `folder`. `environment`:
// NAME=VALUE, beside what there is.
pid_t start_lockstep(const std::vector<std::string>& words,
                     const std::string& folder,
                     const std::vector<std::string>& environment = {});
CommandOutcome wait_for_lockstep(pid_t pid, const std::string& folder);

// Those of a process, as /proc shows them.
std::vector<std::string> children_of(pid_t pid);
// Returns when the process is gone, or dead and not yet collected by whoever inherited it.
void wait_for_end(const std::string& pid);

// Returns when the file holds so many whole lines; false if the process ends before.
bool wait_for_lines(const std::string& path, std::size_t num_lines, pid_t pid);

}  // namespace lockstep::test
