// Runs one program on every rank of a mesh, in this process, over the in-process backend.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/matching/finding.h"
#include "core/comm/communicator.h"
#include "core/comm/mesh.h"
#include "core/config/case.h"

namespace lockstep {
class Gpu;
}

namespace lockstep::sim {

// What a rank runs on. Fibers take turns on one thread; threads run at the same time. Both give the
// same bits.
enum class RankHost { kFibers, kThreads };

struct ClusterOptions {
  RankHost host = RankHost::kFibers;
  ReductionOrder reduction_order = ReductionOrder::kRank;
  Completion completion = Completion::kEarly;
  std::uint64_t schedule_seed = 0;  // which ready rank runs next; shuffled sums; seeded completion
  Gpu* gpu = nullptr;               // on which all ranks compute; none: on the CPU
};

struct ClusterReport {
  std::vector<backends::Finding> findings;  // none: every rank returned and every call completed
  std::int64_t num_calls = 0;               // collective calls submitted, over all ranks
  std::int64_t num_matched = 0;             // of those, completed with all members agreeing
};

// What a rank's program is given.
struct RankSeat {
  Rank rank;
  Transport& transport;
  Device& device;  // its own
};

// Returns when every rank has returned, thrown, or been cancelled. Never throws for what a rank
// does.
ClusterReport run_cluster(const Mesh& mesh,
                          const ClusterOptions& options,
                          const std::function<void(RankSeat&)>& program);

}  // namespace lockstep::sim
