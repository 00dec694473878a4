// The command line from words to an exit code.
#pragma once

#include <string>
#include <vector>

namespace lockstep::matrix {

// `words` are argv without the program. UsageError, NotAvailable and LaunchError are the caller's.
int run_command_line(const std::vector<std::string>& words);

}  // namespace lockstep::matrix
