// Runs the ranks of a cluster, each on a fiber or thread of its own, and notices when all wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "backends/inprocess/parking.h"

namespace lockstep::sim {

struct RankHooks {
  std::function<void(Rank)> body;  // a whole rank; must not throw
  // Every rank that is left waits, and the lock is held. Afterwards each is resumed, cancelled.
  std::function<void()> all_wait;
};

class RankRunner : public backends::Parking {
 public:
  // Once for each object. Returns when every body has returned.
  virtual void run(int num_ranks, const RankHooks& hooks) = 0;
};

// For a rank that computes on the CPU, by code of this project alone.
inline constexpr std::size_t kRankStackBytes = 256 * 1024;

// Seed 0 resumes ready ranks in the order in which they were woken; another seed draws among them.
std::unique_ptr<RankRunner> make_fiber_runner(std::uint64_t schedule_seed,
                                              std::size_t stack_bytes = kRankStackBytes);
std::unique_ptr<RankRunner> make_thread_runner();

}  // namespace lockstep::sim
