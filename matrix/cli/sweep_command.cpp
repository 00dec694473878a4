// `lockstep sweep`: options understood, then all cases, then the report.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/output.h"
#include "matrix/cli/selection.h"
#include "matrix/cli/values.h"
#include "matrix/sweep/report_text.h"
#include "matrix/sweep/sweep.h"

namespace lockstep::matrix {
namespace {

constexpr std::int64_t kMaxJobs = 1024;
constexpr double kMaxTimeout = 1e6;
const char* const kReplayFile = "first-failure.json";

std::size_t num_jobs(const std::string& text) {
  if (!text.empty()) return static_cast<std::size_t>(integer_option("--jobs", text, 1, kMaxJobs));
  return std::max(1U, std::thread::hardware_concurrency());
}

// The command starts itself: whatever the worker needs is there.
std::vector<std::string> own_worker(const Arguments& arguments,
                                    const std::vector<std::string>& checks) {
  std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe"), "worker"};
  if (!arguments.ranks.empty()) command.insert(command.end(), {"--ranks", arguments.ranks});
  std::string list;
  for (const std::string& check : checks) list += (list.empty() ? "" : ",") + check;
  if (!list.empty()) command.insert(command.end(), {"--checks", list});
  return command;
}

bool use_color() { return ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

// As a shell reads it back: in quotes where it holds more than plain letters.
std::string for_shell(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@+:,=%";
  if (word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word)
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

// A case is too long for a line that people copy: it lies beside the results.
std::string replay_command(const SweepOutcome& outcome,
                           const ResultsFile& results,
                           const std::string& folder,
                           const std::string& program) {
  const std::vector<FailingCase> failing = outcome.tally.failing();
  if (failing.empty()) return "";
  results.write_beside(kReplayFile, case_to_json(failing.front().result.c) + "\n");
  return for_shell(program) + " run --case " + for_shell("@" + folder + "/" + kReplayFile);
}

void tell_dropped(const SweepOutcome& outcome) {
  if (outcome.num_undecided > 0) {
    print_error("earlier errors and timeouts are no results and run again: " +
                with_commas(static_cast<std::int64_t>(outcome.num_undecided)));
  }
  if (outcome.num_dropped == 0) return;
  print_error("dropped " + with_commas(static_cast<std::int64_t>(outcome.num_dropped)) +
              " earlier result lines that were torn or belong to no case of this spec");
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  check_backends(arguments);
  const std::string format = arguments.format.empty()
                                 ? "text"
                                 : choice_option("--format", arguments.format, {"text", "json"});
  SweepOptions options;
  options.num_jobs = num_jobs(arguments.jobs);
  options.resume = arguments.resume;
  if (!arguments.timeout.empty()) {
    options.timeout_s = positive_option("--timeout", arguments.timeout, kMaxTimeout);
  }
  const CaseSelection selection = select_cases(arguments);
  options.name = selection.name;
  options.worker_command = own_worker(arguments, selection.checks);
  const std::string folder =
      arguments.out.empty() ? "lockstep-out/" + selection.name : arguments.out;
  ResultsFile results(folder);
  Progress progress(stderr, Progress::style_for(stderr));
  const SweepOutcome outcome =
      run_sweep(selection.known, selection.selected, options, results, progress);
  tell_dropped(outcome);
  const ReportOptions report{
      .color = use_color(),
      .results_path = results.path(),
      .replay_command = replay_command(outcome, results, folder, arguments.program)};
  print_out(format == "json" ? summary_to_json(outcome.summary) + "\n"
                             : report_text(outcome, report));
  if (selection.selected.empty()) return exit_code_of_nothing(selection, arguments);
  return exit_code_of(outcome);
}

}  // namespace lockstep::matrix
