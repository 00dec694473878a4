// Simulated ranks, or a crew of processes.
#include "matrix/cli/ranks_option.h"

#include <filesystem>
#include <limits>

#include "matrix/cli/values.h"
#include "matrix/crew/gloo_ranks.h"

namespace lockstep::matrix {
namespace {

constexpr double kDefaultTimeout = 60.0;
constexpr double kMaxTimeout = 1e6;
constexpr std::int64_t kMaxProcesses = 4096;

}  // namespace

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

bool simulates(const Arguments& arguments) {
  return arguments.comm.empty() || arguments.comm == "inproc";
}

double timeout_option(const Arguments& arguments) {
  if (arguments.timeout.empty()) return kDefaultTimeout;
  return positive_option("--timeout", arguments.timeout, kMaxTimeout);
}

TrialRunner ranks_option(const Arguments& arguments) {
  if (simulates(arguments)) return simulated_ranks(rank_host(arguments.ranks));
  GlooRanksOptions options{.program = own_program(), .timeout_s = timeout_option(arguments)};
  if (!arguments.processes.empty()) {
    constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
    options.num_processes =
        static_cast<int>(integer_option("--processes", arguments.processes, 1, kMaxProcesses));
    options.listening =
        static_cast<int>(integer_option("--listening", arguments.listening, 0, kLargest));
    options.host = arguments.host;
  }
  return gloo_ranks(options);
}

}  // namespace lockstep::matrix
