// Runs the cases of a sweep on worker processes and keeps each result the moment it is there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "matrix/spec/expand.h"
#include "matrix/sweep/progress.h"
#include "matrix/sweep/results_file.h"
#include "matrix/sweep/tally.h"

namespace lockstep::matrix {

struct SweepOptions {
  std::string name;
  // Of the workers: earlier lines of another one are no results.
  std::string comm = "inproc";
  std::string device = "cpu";
  std::vector<std::string> worker_command;
  std::size_t num_jobs = 1;  // workers at most; never more than cases
  double timeout_s = 60.0;
  bool resume = false;
  // Sees each result with its index among the known cases, in the order in which they arrive: those
  // kept from before, too. May be empty.
  std::function<void(std::size_t index, const CaseResult& result)> on_result = {};
  std::string word_for_bad = "failed";   // of the progress
  std::string word_for_cases = "cases";  // of the progress
  bool has_headroom = true;              // of summary.json; of wrong runs it would say nothing
};

struct SweepOutcome {
  Tally tally;
  SweepSummary summary;  // of all cases in the folder: those that were kept, too
  std::size_t num_workers = 0;
  std::size_t num_kept = 0;     // finished before, by an earlier command
  std::size_t num_dropped = 0;  // earlier lines that were torn, or whose case has changed
  // Earlier lines of errors and timeouts whose cases are selected now, and so run again.
  std::size_t num_undecided = 0;
  std::size_t num_selected = 0;
  bool interrupted = false;
};

// `known` are all cases of the spec, in its order; `selected` those to run now, by index. Earlier
// lines of known cases are kept on resume even where they are not selected now. Writes summary.json
// at the end, interrupted or not.
SweepOutcome run_sweep(const std::vector<NamedCase>& known,
                       const std::vector<std::size_t>& selected,
                       const SweepOptions& options,
                       ResultsFile& results,
                       Progress& progress);

// Exit code of a finished sweep (architecture, section 7).
int exit_code_of(const SweepOutcome& outcome);

}  // namespace lockstep::matrix
