// Asks the coordinator, then NCCL, then the clock.
#include "backends/nccl/patience.h"

#include <nccl.h>
#include <poll.h>

#include <thread>

#include "backends/nccl/api.h"

namespace lockstep::backends {
namespace {

constexpr std::chrono::milliseconds kLookInterval{1};
// Rests that only give way: a small call is over sooner.
constexpr int kShortRests = 20000;
constexpr int kLongRestMs = 1;

}  // namespace

bool NcclPatience::is_due() {
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return false;
  next_look_ = now + kLookInterval;
  return true;
}

Trouble NcclPatience::trouble(const std::vector<ncclComm*>& communicators,
                              Clock::time_point since) {
  if (client_.is_trial_over()) return Trouble::kTrialOver;
  for (ncclComm* communicator : communicators) {
    const int state = nccl_state(communicator);
    if (state == ncclSuccess || state == ncclInProgress) continue;
    failure_ = nccl_error_text(state);
    return Trouble::kFailed;
  }
  return Clock::now() - since > timeout_ ? Trouble::kTimeout : Trouble::kNone;
}

void PollPause::rest() {
  if (++num_rests_ < kShortRests) return std::this_thread::yield();
  ::poll(nullptr, 0, kLongRestMs);
}

}  // namespace lockstep::backends
