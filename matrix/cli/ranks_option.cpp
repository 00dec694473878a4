// Simulated ranks, or a crew in other processes.
#include "matrix/cli/ranks_option.h"

#include <filesystem>
#include <limits>
#include <memory>

#include "core/tensor/cuda/gpu.h"
#include "matrix/cli/gpu_options.h"
#include "matrix/cli/values.h"
#include "matrix/crew/crew_ranks.h"

namespace lockstep::matrix {
namespace {

constexpr double kDefaultTimeout = 60.0;
constexpr double kMaxTimeout = 1e6;
constexpr std::int64_t kMaxProcesses = 4096;
constexpr int kGpuOfSimulatedRanks = 0;

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
  if (simulates(arguments)) {
    const sim::RankHost host = rank_host(arguments.ranks);
    if (device_option(arguments) == "cpu") return simulated_ranks(host);
    return simulated_ranks(host, std::make_shared<Gpu>(kGpuOfSimulatedRanks));
  }
  CrewRanksOptions options{.program = own_program(),
                           .timeout_s = timeout_option(arguments),
                           .gpus = gpus_option(arguments),
                           .share_gpus = arguments.share_gpus};
  if (!arguments.processes.empty()) {
    constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
    options.num_processes =
        static_cast<int>(integer_option("--processes", arguments.processes, 1, kMaxProcesses));
    options.listening =
        static_cast<int>(integer_option("--listening", arguments.listening, 0, kLargest));
    options.host = arguments.host;
  }
  return arguments.comm == "nccl" ? nccl_ranks(options) : gloo_ranks(options);
}

}  // namespace lockstep::matrix
