// The results that a sweep left in a folder.
#pragma once

#include <string>
#include <vector>

#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

// In the order of the file; a torn last line is no result. UsageError where there is no such file,
// where it holds anything else, and where its cases ran otherwise than simulated on the CPU.
std::vector<CaseResult> read_simulated_results(const std::string& folder);

}  // namespace lockstep::matrix
