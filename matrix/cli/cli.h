// The command line from words to an exit code.
#pragma once

#include <string>
#include <vector>

namespace lockstep::matrix {

// `words` are argv without the program, which is `program` as the user called it. UsageError,
// NotAvailable and LaunchError are the caller's.
int run_command_line(const std::string& program, const std::vector<std::string>& words);

}  // namespace lockstep::matrix
