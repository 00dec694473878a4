// Plans with what this process sees, before any other has come.
#include "matrix/cli/gpu_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "backends/nccl/transport.h"
#include "core/base/errors.h"
#include "core/tensor/cuda/gpu.h"
#include "matrix/cli/output.h"
#include "matrix/cli/values.h"
#include "matrix/crew/crew.h"
#include "matrix/crew/gpu_plan.h"

namespace lockstep::matrix {
namespace {

int num_processes_of(const Arguments& arguments) {
  return arguments.processes.empty() ? 1 : std::stoi(arguments.processes);
}

// As if each other process of the launcher had as many GPUs of its own.
std::vector<std::vector<std::string>> gpus_as_seen_here(const Arguments& arguments) {
  std::vector<std::vector<std::string>> gpus = {gpus_option(arguments)};
  for (int process = 1; process < num_processes_of(arguments); ++process) {
    std::vector<std::string> others = gpus.front();
    for (std::string& id : others) id += " of process " + std::to_string(process);
    gpus.push_back(std::move(others));
  }
  return gpus;
}

int world_of(const Case& c) { return static_cast<int>(world_size(c.layout)); }

}  // namespace

std::vector<std::string> gpus_option(const Arguments& arguments) {
  if (arguments.comm != "nccl") return {};
  std::vector<std::string> ids;
  for (const GpuName& gpu : gpu_names()) ids.push_back(gpu.id);
  if (arguments.gpus.empty()) return ids;
  const auto num_wanted = static_cast<std::size_t>(
      integer_option("--gpus", arguments.gpus, 1, std::numeric_limits<int>::max()));
  if (num_wanted > ids.size()) {
    throw UsageError(fmt::format("--gpus: this process sees {} GPU{}, got '{}'",
                                 ids.size(),
                                 ids.size() == 1 ? "" : "s",
                                 arguments.gpus));
  }
  ids.resize(num_wanted);
  return ids;
}

std::function<std::optional<std::string>(const Case& c)> why_not_option(
    const Arguments& arguments) {
  if (arguments.comm != "nccl") return [](const Case& c) { return why_no_crew(c, "Gloo"); };
  return [gpus = gpus_as_seen_here(arguments)](const Case& c) -> std::optional<std::string> {
    if (std::optional<std::string> why = why_no_crew(c, "NCCL")) return why;
    std::string why = why_too_crowded(plan_gpus(world_of(c), gpus));
    return why.empty() ? std::nullopt : std::optional(std::move(why));
  };
}

Arguments settle_gpus(Arguments arguments, const std::vector<const Case*>& cases) {
  if (arguments.comm != "nccl") return arguments;
  const std::vector<std::vector<std::string>> gpus = gpus_as_seen_here(arguments);
  // Other processes may see fewer GPUs, or the same: what that comes to is known once they are
  // here.
  const bool is_alone = num_processes_of(arguments) == 1;
  bool any_fits = false;
  bool any_shares = false;
  bool any_may_share = false;
  for (const Case* const c : cases) {
    if (why_no_crew(*c, "NCCL")) continue;
    const bool shares = plan_gpus(world_of(*c), gpus).most_ranks_on_one > 1;
    any_fits = any_fits || !shares;
    any_shares = any_shares || shares;
    any_may_share = any_may_share || (is_alone ? shares : world_of(*c) > 1);
  }
  const std::string why_no_sharing = backends::why_no_nccl(2);
  if (any_shares && !any_fits && !why_no_sharing.empty()) {
    throw NotAvailable("--comm nccl: " + why_no_sharing);
  }
  arguments.share_gpus = any_may_share && why_no_sharing.empty();
  if (!arguments.share_gpus) return arguments;
  const std::string set = backends::let_ranks_share_gpus();
  if (!set.empty()) print_error("note: ranks may share a GPU, so these are set: " + set);
  return arguments;
}

}  // namespace lockstep::matrix
