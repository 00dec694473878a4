// Counts ranks on GPUs, rank by rank.
#include "matrix/crew/gpu_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "backends/nccl/transport.h"
#include "core/base/errors.h"

namespace lockstep::matrix {

GpuPlan plan_gpus(int world, const std::vector<std::vector<std::string>>& gpus_of_process) {
  GpuPlan plan;
  std::map<std::string, int> num_ranks_on;
  for (int rank = 0; rank < world; ++rank) {
    const std::size_t process = static_cast<std::size_t>(rank) % gpus_of_process.size();
    const std::vector<std::string>& gpus = gpus_of_process[process];
    if (gpus.empty()) {
      throw UsageError(
          fmt::format("rank {} has no GPU: process {} of the launcher sees none", rank, process));
    }
    const auto emptiest =
        std::min_element(gpus.begin(), gpus.end(), [&](const auto& a, const auto& b) {
          return num_ranks_on[a] < num_ranks_on[b];
        });
    plan.ordinals.push_back(static_cast<int>(emptiest - gpus.begin()));
    plan.most_ranks_on_one = std::max(plan.most_ranks_on_one, ++num_ranks_on[*emptiest]);
  }
  return plan;
}

std::string why_too_crowded(const GpuPlan& plan) {
  if (plan.most_ranks_on_one > backends::kMaxRanksPerGpu) {
    return fmt::format("{} ranks would share a GPU, of which at most {} can",
                       plan.most_ranks_on_one,
                       backends::kMaxRanksPerGpu);
  }
  return backends::why_no_nccl(plan.most_ranks_on_one);
}

std::string to_text(const GpuPlan& plan) {
  return fmt::format("{} {}", plan.most_ranks_on_one, fmt::join(plan.ordinals, " "));
}

GpuPlan gpu_plan_from_text(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const last = text.data() + text.size();
  while (at < last) {
    int number = 0;
    const auto [end, error] = std::from_chars(at, last, number);
    const bool goes_on = last - end > 1 && *end == ' ';
    const bool is_whole = error == std::errc() && number >= 0 && (end == last || goes_on);
    if (!is_whole) throw UsageError(fmt::format("not a plan of GPUs: '{}'", text));
    numbers.push_back(number);
    at = end == last ? end : end + 1;
  }
  if (numbers.size() < 2) throw UsageError(fmt::format("not a plan of GPUs: '{}'", text));
  return {.ordinals = {numbers.begin() + 1, numbers.end()}, .most_ranks_on_one = numbers.front()};
}

}  // namespace lockstep::matrix
