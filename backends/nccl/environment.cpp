// Versions, limits and variables.
#include "backends/nccl/environment.h"

#include <fmt/format.h>
#include <nccl.h>

#include <array>
#include <cstdlib>

#include "backends/nccl/transport.h"

namespace lockstep::backends {
namespace {

constexpr int kSharingVersion = NCCL_VERSION(2, 30, 0);
// Older ones have a thread's GPU write into tensors of another one's in the same process, which
// memory of a pool does not allow.
constexpr int kOldestVersion = NCCL_VERSION(2, 24, 0);

enum class Wanted {
  kByDefault,      // where nothing is set
  kAlways,         // another value is replaced: with it ranks may wait for each other for ever
  kInPlaceOfOther  // likewise, but what is not set is well
};
struct WantedVariable {
  std::string_view name;
  std::string_view value;
  Wanted wanted;
};

// One channel a rank, or those that wait for each other fill the GPU, and a smallest number of them
// outweighs the largest; no multicast, which is of several GPUs; as many queues as can be, for
// streams that share one run one after the other; and no launches that wait for all ranks of the
// process, where two exchange a message.
constexpr std::array<WantedVariable, 8> kWanted{{
    {.name = "NCCL_MULTI_RANK_GPU_ENABLE", .value = "1", .wanted = Wanted::kByDefault},
    {.name = "NCCL_MAX_CTAS", .value = "1", .wanted = Wanted::kAlways},
    {.name = "NCCL_MIN_NCHANNELS", .value = "1", .wanted = Wanted::kInPlaceOfOther},
    {.name = "NCCL_MIN_NRINGS", .value = "1", .wanted = Wanted::kInPlaceOfOther},
    {.name = "NCCL_MIN_P2P_NCHANNELS", .value = "1", .wanted = Wanted::kInPlaceOfOther},
    {.name = "NCCL_LAUNCH_MODE", .value = "PARALLEL", .wanted = Wanted::kInPlaceOfOther},
    {.name = "NCCL_NVLS_ENABLE", .value = "0", .wanted = Wanted::kByDefault},
    {.name = "CUDA_DEVICE_MAX_CONNECTIONS", .value = "32", .wanted = Wanted::kByDefault},
}};

bool is_due(const WantedVariable& its, const std::optional<std::string>& there) {
  if (!there) return its.wanted != Wanted::kInPlaceOfOther;
  return its.wanted != Wanted::kByDefault && *there != its.value;
}

int found_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

std::optional<std::string> environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string why_not_so_many(int version, int ranks_per_gpu) {
  if (version < kOldestVersion) {
    return fmt::format(
        "NCCL {} was found, and ranks that are threads need {} or newer: name the folder of one "
        "first in LD_LIBRARY_PATH",
        nccl_version_text(version),
        nccl_version_text(kOldestVersion));
  }
  if (ranks_per_gpu <= 1 || version >= kSharingVersion) return "";
  return fmt::format(
      "NCCL {} was found, and several ranks on one GPU need 2.30 or newer: use as many GPUs as "
      "ranks, or name the folder of a newer libnccl.so.2 first in LD_LIBRARY_PATH",
      nccl_version_text(version));
}

std::string why_no_nccl(int ranks_per_gpu) {
  if (std::string why = why_no_cuda(); !why.empty()) return why;
  return why_not_so_many(found_version(), ranks_per_gpu);
}

std::string nccl_version() {
  const int found = found_version();
  const std::string text = nccl_version_text(found);
  if (found == NCCL_VERSION_CODE) return text;
  return fmt::format("{}, built with {}", text, nccl_version_text(NCCL_VERSION_CODE));
}

std::vector<Variable> plan_environment(
    const std::function<std::optional<std::string>(const std::string& name)>& value_of) {
  std::vector<Variable> planned;
  for (const WantedVariable& wanted : kWanted) {
    const std::optional<std::string> there = value_of(std::string(wanted.name));
    if (!is_due(wanted, there)) continue;
    planned.push_back({.name = std::string(wanted.name),
                       .value = std::string(wanted.value),
                       .instead_of = there.value_or("")});
  }
  return planned;
}

std::string to_text(const std::vector<Variable>& variables) {
  std::string text;
  for (const Variable& its : variables) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", its.name, its.value);
    if (!its.instead_of.empty()) text += fmt::format(" (instead of {})", its.instead_of);
  }
  return text;
}

std::string let_ranks_share_gpus() {
  const std::vector<Variable> planned = plan_environment(environment_value);
  for (const Variable& its : planned) ::setenv(its.name.c_str(), its.value.c_str(), 1);
  return to_text(planned);
}

}  // namespace lockstep::backends
