// The worker's side of a sweep: requests on standard input, result lines on standard output.
//
// Whatever the cases print goes to standard error: the descriptor of the answers is put out of
// reach before the first case runs.
#pragma once

#include <functional>
#include <string>

#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

using RunCase = std::function<CaseResult(const std::string& name, const Case& c)>;

// Serves until standard input ends; returns the exit code. What `run` throws costs that case only.
int serve_cases(const RunCase& run);

}  // namespace lockstep::matrix
