// NCCL's operations among threads, by plain loops: what one group of them does to memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/nccl/plan.h"

namespace lockstep::test {

// Who meets: the members of a group, or the two ends of a message, as ranks of the world.
struct LoopMeeting {
  std::vector<int> ranks;
  bool is_message = false;
  auto operator<=>(const LoopMeeting&) const = default;
};

class LoopNccl {
 public:
  // One group of this member's operations, whose peers are places in `meeting`. Returns when all
  // members have theirs done. `look` is called while it waits; what it throws ends the wait.
  // InternalError for what NCCL does not allow.
  void run(const LoopMeeting& meeting,
           int me,
           const std::vector<backends::NcclOperation>& operations,
           const std::function<void()>& look);

 private:
  struct Place {
    std::mutex mutex;
    std::condition_variable changed;
    int num_arrived = 0;
    std::uint64_t num_rounds = 0;
    std::vector<const std::vector<backends::NcclOperation>*> operations;  // by member
  };

  Place& place_of(const LoopMeeting& meeting);
  static void meet(Place& place, const std::function<void()>& look);

  std::mutex mutex_;
  std::map<LoopMeeting, std::unique_ptr<Place>> places_;
};

// The reduction of as many inputs in their order, into memory that is apart from them.
void reduce_by_loops(DType dtype,
                     ReduceOp op,
                     const std::vector<const std::byte*>& inputs,
                     std::int64_t count,
                     std::byte* output);

}  // namespace lockstep::test
