// Options become a SweepOptions; the worker's command is this command itself.
#include "matrix/cli/sweep_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <thread>

#include "core/config/case_json.h"
#include "matrix/cli/output.h"
#include "matrix/cli/values.h"
#include "matrix/sweep/report_parts.h"

namespace lockstep::matrix {
namespace {

constexpr std::int64_t kMaxJobs = 1024;
constexpr double kMaxTimeout = 1e6;

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

}  // namespace

SweepOptions sweep_options(const Arguments& arguments,
                           const std::string& name,
                           const std::vector<std::string>& checks) {
  SweepOptions options;
  options.name = name;
  options.worker_command = own_worker(arguments, checks);
  options.num_jobs = num_jobs(arguments.jobs);
  options.resume = arguments.resume;
  if (!arguments.timeout.empty()) {
    options.timeout_s = positive_option("--timeout", arguments.timeout, kMaxTimeout);
  }
  return options;
}

std::string results_folder(const Arguments& arguments, const std::string& name) {
  return arguments.out.empty() ? "lockstep-out/" + name : arguments.out;
}

bool use_color() { return ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

std::string replay_command(const Case& c,
                           const ResultsFile& results,
                           const std::string& file_name,
                           const Arguments& arguments,
                           const std::string& folder) {
  results.write_beside(file_name, case_to_json(c) + "\n");
  return for_shell(arguments.program) + " run --case " + for_shell("@" + folder + "/" + file_name);
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

}  // namespace lockstep::matrix
