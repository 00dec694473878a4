// Options become a SweepOptions; the worker's command is this command itself.
#include "matrix/cli/sweep_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "matrix/cli/output.h"
#include "matrix/cli/ranks_option.h"
#include "matrix/cli/values.h"
#include "matrix/crew/crew_ranks.h"
#include "matrix/sweep/report_parts.h"

namespace lockstep::matrix {
namespace {

constexpr std::int64_t kMaxJobs = 1024;

// A worker of simulated ranks keeps one core busy, one of processes as many as there are, and one
// on a GPU the GPU.
std::size_t num_jobs(const Arguments& arguments) {
  const bool is_launched = !arguments.processes.empty();
  if (!arguments.jobs.empty()) {
    const std::int64_t jobs = integer_option("--jobs", arguments.jobs, 1, kMaxJobs);
    if (is_launched && jobs > 1) {
      throw UsageError("--jobs: one case at a time runs on the processes that " +
                       arguments.launcher + " started, got " + arguments.jobs);
    }
    return static_cast<std::size_t>(jobs);
  }
  const bool is_alone = !simulates(arguments) || device_option(arguments) != "cpu";
  return is_alone ? 1U : std::max(1U, std::thread::hardware_concurrency());
}

// The command starts itself: whatever the worker needs is there.
std::vector<std::string> own_worker(const Arguments& arguments,
                                    const std::vector<std::string>& checks) {
  std::vector<std::string> command = {own_program(), "worker"};
  const auto pass_on = [&command](const std::string& flag, const std::string& value) {
    if (!value.empty()) command.insert(command.end(), {flag, value});
  };
  pass_on("--ranks", arguments.ranks);
  pass_on("--device", arguments.device);
  pass_on("--comm", arguments.comm);
  pass_on("--gpus", arguments.gpus);
  if (arguments.share_gpus) command.emplace_back(kShareGpus);
  pass_on("--timeout", arguments.timeout);
  pass_on("--against", arguments.against);
  pass_on("--processes", arguments.processes);
  pass_on("--host", arguments.host);
  pass_on("--listening", arguments.listening);
  std::string list;
  for (const std::string& check : checks) list += (list.empty() ? "" : ",") + check;
  pass_on("--checks", list);
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
  if (!arguments.comm.empty()) options.comm = arguments.comm;
  options.device = device_option(arguments);
  options.num_jobs = num_jobs(arguments);
  options.resume = arguments.resume;
  options.timeout_s = timeout_option(arguments);
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
  return for_shell(arguments.program) + " run --case " + for_shell("@" + folder + "/" + file_name) +
         (simulates(arguments) ? "" : " --comm " + arguments.comm) +
         (arguments.device.empty() ? "" : " --device " + arguments.device) +
         (arguments.gpus.empty() ? "" : " --gpus " + arguments.gpus);
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
