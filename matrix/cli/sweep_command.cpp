// `lockstep sweep`: options understood, then all cases, then the report.
#include "matrix/cli/commands.h"
#include "matrix/cli/gpu_options.h"
#include "matrix/cli/launched.h"
#include "matrix/cli/output.h"
#include "matrix/cli/selection.h"
#include "matrix/cli/sweep_options.h"
#include "matrix/cli/values.h"
#include "matrix/sweep/report_text.h"

namespace lockstep::matrix {
namespace {

const char* const kReplayFile = "first-failure.json";

std::string replay_of_first(const SweepOutcome& outcome,
                            const ResultsFile& results,
                            const Arguments& arguments,
                            const std::string& folder) {
  const std::vector<FailingCase> failing = outcome.tally.failing();
  if (failing.empty()) return "";
  return replay_command(failing.front().result.c, results, kReplayFile, arguments, folder);
}

int lead_sweep(const Arguments& arguments) {
  const std::string format = arguments.format.empty()
                                 ? "text"
                                 : choice_option("--format", arguments.format, {"text", "json"});
  const CaseSelection selection = select_cases(arguments);
  const Arguments settled = settle_gpus(arguments, cases_to_run(selection));
  const SweepOptions options = sweep_options(settled, selection.name, selection.checks);
  const std::string folder = results_folder(arguments, selection.name);
  ResultsFile results(folder);
  Progress progress(stderr, Progress::style_for(stderr));
  const SweepOutcome outcome =
      run_sweep(selection.known, selection.selected, options, results, progress);
  tell_dropped(outcome);
  const ReportOptions report{
      .color = use_color(),
      .results_path = results.path(),
      .replay_command = replay_of_first(outcome, results, arguments, folder)};
  print_out(format == "json" ? summary_to_json(outcome.summary) + "\n"
                             : report_text(outcome, report));
  if (selection.selected.empty()) return exit_code_of_nothing(selection, arguments);
  return exit_code_of(outcome);
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  check_backends(arguments);
  return on_leader(arguments, lead_sweep);
}

}  // namespace lockstep::matrix
