// The worker's side of a sweep: requests on standard input, result lines on standard output.
//
// Whatever the cases print goes to standard error: the descriptor of the answers is put out of
// reach before the first case runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

using RunCase = std::function<CaseResult(const std::string& name, const Case& c)>;

// Begins the answer of a worker that serves no more: whoever reads it starts another one.
inline constexpr std::string_view kSpentMark = "spent ";

// Serves until standard input ends, or until `is_spent` says after a case that this process can run
// nothing more; returns the exit code. What `run` throws costs that case only.
int serve_cases(
    const RunCase& run, const std::function<bool()>& is_spent = [] { return false; });

}  // namespace lockstep::matrix
