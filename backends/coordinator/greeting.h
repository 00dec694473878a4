// How a rank's process comes to its coordinator.
#pragma once

#include "backends/coordinator/client.h"
#include "backends/coordinator/protocol.h"
#include "backends/coordinator/socket.h"

namespace lockstep::backends {

std::string to_text(const CoordinatorAddress& address);  // host:port

struct Greeted {
  Socket socket;
  FrameCutter cutter;  // holds what has come after the welcome
};

// Tries until the patience is over. ConnectionLost, at once where the coordinator refuses it.
Greeted greet_coordinator(const CoordinatorClient::Options& options);

}  // namespace lockstep::backends
