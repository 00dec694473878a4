// The report of a finished sweep, for people: conditions first, then cases.
#pragma once

#include <string>

#include "matrix/sweep/sweep.h"

namespace lockstep::matrix {

struct ReportOptions {
  bool color = false;
  std::string results_path;
  std::string replay_command;  // of the first failing case; empty where none failed
};

std::string report_text(const SweepOutcome& outcome, const ReportOptions& options);

// 1234567 -> "1,234,567".
std::string with_commas(std::int64_t number);

}  // namespace lockstep::matrix
