// Reads a place from the variables of torchrun, Open MPI or Slurm.
#include "matrix/launch/place.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "core/base/digest.h"
#include "core/base/errors.h"
#include "matrix/launch/variables.h"

namespace lockstep::matrix {
namespace {

constexpr std::int64_t kMostProcesses = 4096;  // the largest world
constexpr std::int64_t kMostOfAll = INT64_MAX;
constexpr Bounds kPorts{.least = 1, .most = 65535};
constexpr Bounds kCounts{.least = 1, .most = kMostProcesses};
constexpr const char* kLoopback = "127.0.0.1";

struct Names {
  std::string_view rank;
  std::string_view num_processes;
  std::string_view local_rank;
};

// Everything but host and port. A local rank that is absent is the rank: one host.
Place count_in(const Environment& environment, const Names& names, std::string launcher) {
  const std::int64_t count = need_integer(environment, names.num_processes, kCounts, names.rank);
  const Bounds ranks{.least = 0, .most = count - 1};
  const std::int64_t rank = need_integer(environment, names.rank, ranks, names.num_processes);
  const std::int64_t local_rank = find_integer(environment, names.local_rank, ranks).value_or(rank);
  return {.rank = static_cast<int>(rank),
          .num_processes = static_cast<int>(count),
          .local_rank = static_cast<int>(local_rank),
          .host = "",
          .port = 0,
          .launcher = std::move(launcher)};
}

// Every process of a job finds the same one without a word between them, two jobs hardly ever do.
// Below the ports that Linux hands to outgoing connections, which start at 32768.
int port_of_job(std::string_view job) {
  constexpr std::uint64_t kFirst = 16384;
  constexpr std::uint64_t kCount = 16384;
  Digest digest;
  digest.add(job);
  return static_cast<int>(kFirst + digest.value() % kCount);
}

[[noreturn]] void ask_for(std::string_view variable,
                          std::string_view meaning,
                          std::string_view reason) {
  throw UsageError(fmt::format("{} is not set: set it to {}, {}", variable, meaning, reason));
}

std::optional<int> given_port(const Environment& environment) {
  const std::optional<std::int64_t> port = find_integer(environment, "MASTER_PORT", kPorts);
  if (!port.has_value()) return std::nullopt;
  return static_cast<int>(*port);
}

std::optional<Place> place_of_torchrun(const Environment& environment) {
  if (!find_text(environment, "RANK") && !find_text(environment, "WORLD_SIZE")) return std::nullopt;
  Place place =
      count_in(environment,
               {.rank = "RANK", .num_processes = "WORLD_SIZE", .local_rank = "LOCAL_RANK"},
               "torchrun");
  const std::optional<std::string> host = find_text(environment, "MASTER_ADDR");
  const std::optional<int> port = given_port(environment);
  if (!host) ask_for("MASTER_ADDR", "the address of rank 0's host", "as RANK is set");
  if (!port) ask_for("MASTER_PORT", "a port that is free on rank 0's host", "as RANK is set");
  place.host = *host;
  place.port = *port;
  // torchrun itself listens on MASTER_PORT then.
  if (find_text(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True") {
    place.port += place.port == kPorts.most ? -1 : 1;
  }
  return place;
}

// "192.0.2.2" of "1937440768.0;tcp://192.0.2.2,198.51.100.2:53151;tcp6://[fd00::2]:39861".
std::string host_of_mpirun(const std::string& uri) {
  constexpr std::string_view kScheme = ";tcp://";
  const std::size_t scheme = uri.find(kScheme);
  if (scheme == std::string::npos) return "";
  const std::size_t first = scheme + kScheme.size();
  const std::size_t end = uri.find_first_of(",:;", first);
  return uri.substr(first, end == std::string::npos ? end : end - first);
}

std::string host_under_mpirun(const Environment& environment, const Place& place) {
  const std::optional<std::int64_t> local_size =
      find_integer(environment, "OMPI_COMM_WORLD_LOCAL_SIZE", kCounts);
  if (local_size == place.num_processes) return kLoopback;
  const std::optional<std::string> uri = find_text(environment, "OMPI_MCA_orte_hnp_uri");
  const std::string host = uri.has_value() ? host_of_mpirun(*uri) : "";
  // Only rank 0 can tell that it is elsewhere; mpirun ends the others when it gives up.
  const bool is_elsewhere =
      place.rank == 0 && find_text(environment, "OMPI_MCA_orte_local_daemon_uri") != uri;
  if (!host.empty() && !is_elsewhere) return host;
  ask_for("MASTER_ADDR",
          "the address of rank 0's host",
          is_elsewhere ? "as rank 0 is not on mpirun's host (mpirun -x MASTER_ADDR=...)"
                       : "as mpirun does not tell it (mpirun -x MASTER_ADDR=...)");
}

std::optional<Place> place_of_mpirun(const Environment& environment) {
  constexpr std::string_view kRank = "OMPI_COMM_WORLD_RANK";
  constexpr std::string_view kSize = "OMPI_COMM_WORLD_SIZE";
  if (!find_text(environment, kRank) && !find_text(environment, kSize)) return std::nullopt;
  Place place =
      count_in(environment,
               {.rank = kRank, .num_processes = kSize, .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK"},
               "mpirun");
  const std::optional<std::string> host = find_text(environment, "MASTER_ADDR");
  const std::optional<int> port = given_port(environment);
  const std::optional<std::string> job = find_text(environment, "PMIX_NAMESPACE");
  if (!port && !job) {
    ask_for(
        "MASTER_PORT", "a port that is free on rank 0's host", "as mpirun does not tell its job");
  }
  place.host = host ? *host : host_under_mpirun(environment, place);
  place.port = port ? *port : port_of_job("mpirun " + *job);
  return place;
}

// Batch scripts, interactive shells and the like are steps by these numbers, and no tasks of srun.
constexpr std::int64_t kFirstReservedStep = 0xfffffff0;

bool is_step_of_srun(const Environment& environment) {
  const std::optional<std::int64_t> step =
      find_integer(environment, "SLURM_STEP_ID", {.least = 0, .most = kMostOfAll});
  return step.has_value() && *step < kFirstReservedStep;
}

std::string host_under_srun(const Environment& environment, const Place& place) {
  const Bounds any{.least = 0, .most = kMostOfAll};
  if (find_integer(environment, "SLURM_STEP_NUM_NODES", any) == 1) return kLoopback;
  const std::optional<std::string> list = find_text(environment, "SLURM_STEP_NODELIST");
  if (!list) {
    ask_for("MASTER_ADDR", "the address of rank 0's host", "as SLURM_STEP_NODELIST is not set");
  }
  // Only rank 0 can tell that tasks were laid out otherwise, as --distribution=arbitrary does.
  if (place.rank == 0 && find_integer(environment, "SLURM_NODEID", any).value_or(0) != 0) {
    ask_for("MASTER_ADDR",
            "the address of rank 0's host",
            "as rank 0 is not on the first host of the step");
  }
  return first_host(*list, "SLURM_STEP_NODELIST");
}

std::optional<Place> place_of_srun(const Environment& environment) {
  if (!is_step_of_srun(environment)) return std::nullopt;
  Place place = count_in(
      environment,
      {.rank = "SLURM_PROCID", .num_processes = "SLURM_NTASKS", .local_rank = "SLURM_LOCALID"},
      "srun");
  const std::optional<std::string> host = find_text(environment, "MASTER_ADDR");
  const std::optional<int> port = given_port(environment);
  const std::optional<std::string> job = find_text(environment, "SLURM_JOB_ID");
  if (!port && !job) {
    ask_for("MASTER_PORT", "a port that is free on rank 0's host", "as SLURM_JOB_ID is not set");
  }
  place.host = host ? *host : host_under_srun(environment, place);
  place.port =
      port
          ? *port
          : port_of_job(fmt::format("srun {} {}", *job, environment.find("SLURM_STEP_ID")->second));
  return place;
}

}  // namespace

std::optional<Place> plan_place(const Environment& environment) {
  std::optional<Place> place = place_of_torchrun(environment);
  if (!place) place = place_of_mpirun(environment);
  if (!place) place = place_of_srun(environment);
  return place;
}

std::string first_host(std::string_view list, std::string_view variable) {
  std::string host;
  std::size_t at = 0;
  while (at < list.size() && list[at] != ',') {
    if (list[at] != '[') {
      host += list[at++];
      continue;
    }
    const std::size_t close = list.find(']', at);
    const std::size_t end = list.find_first_of("-,]", at);
    if (close == std::string_view::npos || end == at + 1) {
      host.clear();
      break;
    }
    host += list.substr(at + 1, end - at - 1);
    at = close + 1;
  }
  if (!host.empty() && host.find(']') == std::string::npos) return host;
  throw UsageError(
      fmt::format("{} is '{}': expected hosts as in node[01-04],other", variable, list));
}

}  // namespace lockstep::matrix
