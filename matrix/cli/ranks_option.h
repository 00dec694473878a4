// From --comm and its kin to what runs the ranks of a case.
#pragma once

#include <string>

#include "matrix/cli/arguments.h"
#include "matrix/sweep/trial_runner.h"

namespace lockstep::matrix {

// This command's own file.
std::string own_program();

// Whether ranks are simulated in this process.
bool simulates(const Arguments& arguments);

// Seconds of --timeout, or its default.
double timeout_option(const Arguments& arguments);

TrialRunner ranks_option(const Arguments& arguments);

}  // namespace lockstep::matrix
