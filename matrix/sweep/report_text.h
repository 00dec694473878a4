// The report of a finished sweep, for people: conditions first, then cases.
#pragma once

#include <string>

#include "matrix/sweep/report_parts.h"
#include "matrix/sweep/sweep.h"

namespace lockstep::matrix {

struct ReportOptions {
  bool color = false;
  std::string results_path;
  std::string replay_command;  // of the first failing case; empty where none failed
};

std::string report_text(const SweepOutcome& outcome, const ReportOptions& options);

// The parts of invalid and of skipped cases: their reasons, the commonest first. Empty where there
// are none.
std::string not_run_text(const Tally& tally, const Paint& paint);

}  // namespace lockstep::matrix
