// Calls that were given the word to go, and who has not yet done them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "backends/coordinator/client.h"
#include "backends/matching/meeting.h"

namespace lockstep::backends {

struct StartedCall {
  const Meeting* meeting = nullptr;  // is not used again before all have done it
  std::vector<Rank> undone;
};

// One rank's part of a call, as its client knows it.
struct StartedPart {
  Go go;
  std::size_t party = 0;
  std::shared_ptr<StartedCall> call;
};

class StartedCalls {
 public:
  // `processes`: which one serves each rank; empty: each another.
  StartedCalls(int num_ranks, const std::vector<int>& processes);

  // By party. All members of the meeting have come and agree.
  std::vector<Go> start(const Meeting& meeting);
  // False: the rank was not told to do that.
  bool done(Rank rank, const Go& go);

  // What the rank has not done, in the order in which it was told to.
  const std::deque<StartedPart>& undone(Rank rank) const {
    return parts_[static_cast<std::size_t>(rank.value)];
  }
  bool is_undone(Rank rank, int communicator, std::uint64_t sequence) const;

  int process_of(Rank rank) const { return processes_[static_cast<std::size_t>(rank.value)]; }

 private:
  std::vector<std::deque<StartedPart>> parts_;  // by rank
  std::vector<int> processes_;                  // by rank
  std::map<int, std::uint64_t> num_started_;    // calls, by process
};

}  // namespace lockstep::backends
