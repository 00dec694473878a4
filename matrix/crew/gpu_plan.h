// On which GPU each rank computes: a plan without side effects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::matrix {

struct GpuPlan {
  std::vector<int> ordinals;  // by rank: among the GPUs that its process sees
  int most_ranks_on_one = 0;

  bool operator==(const GpuPlan&) const = default;
};

// Rank r is in process r modulo their number; a process' GPUs are given by ids, the same for every
// process that sees them. Ranks take GPUs in their order: each the one of its process on which the
// fewest ranks are, the first of equals. So no rank's GPU depends on how many come after it.
// UsageError where a rank's process has no GPU.
GpuPlan plan_gpus(int world, const std::vector<std::vector<std::string>>& gpus_of_process);

// Why ranks cannot be laid out so: too many on a GPU, or a NCCL that cannot share one; empty where
// they can. A sentence.
std::string why_too_crowded(const GpuPlan& plan);

// One line, without its end, and back. UsageError for anything that to_text did not write.
std::string to_text(const GpuPlan& plan);
GpuPlan gpu_plan_from_text(std::string_view text);

}  // namespace lockstep::matrix
