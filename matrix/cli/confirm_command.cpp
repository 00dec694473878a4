// `lockstep confirm`: cases of a sweep again on another backend, and whether both agree.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "core/config/rules.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/gpu_options.h"
#include "matrix/cli/launched.h"
#include "matrix/cli/output.h"
#include "matrix/cli/ranks_option.h"
#include "matrix/cli/sweep_options.h"
#include "matrix/cli/table_text.h"
#include "matrix/cli/values.h"
#include "matrix/confirm/choose.h"
#include "matrix/confirm/confirmation_report.h"
#include "matrix/confirm/earlier_results.h"

namespace lockstep::matrix {
namespace {

const char* const kJsonFile = "confirmation.json";

void check_comm(const Arguments& arguments) {
  check_backends(arguments);
  if (!simulates(arguments)) return;
  throw UsageError(
      arguments.comm.empty()
          ? "confirm: --comm says on which backend; expected gloo or nccl, got nothing"
          : "--comm inproc: the sweep itself ran on simulated ranks; expected gloo or nccl");
}

std::optional<std::size_t> limit_option(const Arguments& arguments) {
  if (arguments.limit.empty()) return std::nullopt;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::size_t>(integer_option("--limit", arguments.limit, 1, kLargest));
}

// The checks of the sweep, so that both verdicts say the same; all that are built where no line
// tells.
std::vector<std::string> checks_of(const std::vector<CaseResult>& results) {
  std::vector<std::string> names;
  for (const CaseResult& result : results) {
    for (const sim::CheckResult& check : result.checks) names.push_back(check.check);
    if (!names.empty()) break;
  }
  return names;
}

std::vector<const Case*> cases_of(const std::vector<CaseResult>& results) {
  std::vector<const Case*> cases;
  for (const CaseResult& result : results) {
    if (result.verdict != Verdict::kInvalid) cases.push_back(&result.c);
  }
  return cases;
}

// Beside the sweep's own results, which stay as they are.
std::string confirmation_folder(const Arguments& arguments) {
  if (::access(arguments.subject.c_str(), W_OK) != 0) {
    throw UsageError("cannot write to '" + arguments.subject + "': " + std::strerror(errno) +
                     "; expected a folder in which confirm-" + arguments.comm + " can be made");
  }
  return arguments.subject + "/confirm-" + arguments.comm;
}

// Of the folder, however it was spelled.
std::string sweep_name(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

Confirmation confirm(const std::vector<CaseResult>& swept,
                     const Choice& choice,
                     SweepOptions options,
                     ResultsFile& results) {
  std::vector<NamedCase> cases;
  std::vector<std::size_t> selected;
  for (const std::size_t index : choice.chosen) {
    selected.push_back(cases.size());
    cases.push_back({.name = swept[index].name, .c = swept[index].c, .invalid_reason = {}});
  }
  std::vector<std::optional<JoinedCase>> joined(cases.size());
  options.on_result = [&](std::size_t index, const CaseResult& result) {
    joined[index] = join(swept[choice.chosen[index]], result);
  };
  Progress progress(stderr, Progress::style_for(stderr));
  const SweepOutcome outcome = run_sweep(cases, selected, options, results, progress);
  Confirmation confirmation{.comm = options.comm,
                            .num_chosen = cases.size(),
                            .num_fit = choice.num_fit,
                            .left_out = choice.left_out,
                            .seconds = outcome.summary.seconds,
                            .interrupted = outcome.interrupted};
  for (std::optional<JoinedCase>& one : joined) {
    if (one) confirmation.cases.push_back(std::move(*one));
  }
  return confirmation;
}

int lead_confirm(const Arguments& arguments) {
  const std::string format = arguments.format.empty()
                                 ? "text"
                                 : choice_option("--format", arguments.format, {"text", "json"});
  const std::optional<std::size_t> limit = limit_option(arguments);
  const std::vector<CaseResult> swept = read_simulated_results(arguments.subject);
  Arguments workers = settle_gpus(arguments, cases_of(swept));
  const Choice choice = choose_cases(swept, why_not_option(arguments), limit);
  workers.against = "inproc";
  const std::string name = sweep_name(arguments.subject);
  const SweepOptions options =
      sweep_options(workers, name + "-confirm-" + arguments.comm, checks_of(swept));
  ResultsFile results(confirmation_folder(arguments));
  Confirmation confirmation = confirm(swept, choice, options, results);
  confirmation.name = name;
  const std::string json = confirmation_to_json(confirmation) + "\n";
  results.write_beside(kJsonFile, json);
  if (format == "json") {
    print_out(json);
  } else {
    if (!confirmation.cases.empty()) {
      print_out(table_text(confirmation_rows(confirmation), terminal_width(), "where") + "\n");
    }
    print_out(confirmation_closing(confirmation) + "results  " + results.path() + "\n");
  }
  return exit_code_of(confirmation);
}

}  // namespace

int confirm_command(const Arguments& arguments) {
  check_comm(arguments);
  if (!arguments.asked_launcher.empty()) {
    choice_option("--launcher", arguments.asked_launcher, {"local", "mpirun", "slurm"});
  }
  return on_leader(arguments, lead_confirm);
}

}  // namespace lockstep::matrix
