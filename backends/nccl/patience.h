// How long a rank waits for NCCL: not beyond its trial, an error of its communicators or the
// time-out.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backends/coordinator/client.h"

struct ncclComm;  // NCCL's, whose header only sources see

namespace lockstep::backends {

// Why a rank need not wait on.
enum class Trouble { kNone, kTrialOver, kFailed, kTimeout };

class NcclPatience {
 public:
  using Clock = std::chrono::steady_clock;

  // The client outlives it.
  NcclPatience(CoordinatorClient& client, std::chrono::milliseconds timeout)
      : client_(client), timeout_(timeout) {}

  std::chrono::milliseconds timeout() const { return timeout_; }

  // A look is due, about a thousand times a second: it costs more than a poll.
  bool is_due();
  // Of work that has not moved since then. ConnectionLost where the coordinator is gone.
  Trouble trouble(const std::vector<ncclComm*>& communicators, Clock::time_point since);
  // Of kFailed: what NCCL says.
  const std::string& failure() const { return failure_; }

 private:
  CoordinatorClient& client_;
  std::chrono::milliseconds timeout_;
  Clock::time_point next_look_;
  std::string failure_;
};

// For loops that poll: gives way, and rests longer where it takes long.
class PollPause {
 public:
  void rest();

 private:
  int num_rests_ = 0;
};

}  // namespace lockstep::backends
