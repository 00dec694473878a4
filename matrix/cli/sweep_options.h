// What the sub-commands that run many cases have in common: their options, and how they are told.
#pragma once

#include <string>
#include <vector>

#include "core/config/case.h"
#include "matrix/cli/arguments.h"
#include "matrix/sweep/sweep.h"

namespace lockstep::matrix {

// From --jobs, --timeout, --resume and --ranks. UsageError for what is out of range.
SweepOptions sweep_options(const Arguments& arguments,
                           const std::string& name,
                           const std::vector<std::string>& checks);

// The folder of --out, or lockstep-out/`name`.
std::string results_folder(const Arguments& arguments, const std::string& name);

// Whether standard output is a terminal that may be given colors.
bool use_color();

// Writes the case to a file of the results, for it is too long for a line that people copy, and
// returns the command that runs it again.
std::string replay_command(const Case& c,
                           const ResultsFile& results,
                           const std::string& file_name,
                           const Arguments& arguments,
                           const std::string& folder);

// On standard error, where there were any: earlier lines that do not count.
void tell_dropped(const SweepOutcome& outcome);

}  // namespace lockstep::matrix
