// The Gloo backend: ranks are processes, data moves over TCP by Gloo's collectives, or by what is
// built from them where Gloo has none (capabilities.cpp).
//
// No call reaches Gloo before the coordinator has seen that all members make the same one: a wrong
// one costs its trial, never a crash of the library. A wait carries out what is due on this rank.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "backends/coordinator/client.h"
#include "core/comm/communicator.h"

namespace lockstep::backends {

// A transfer broke or did not move: one sentence with the call, its label and its group.
class GlooError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Gloo's connections of one process, kept from trial to trial. Both outlive what is made from them.
class GlooConnections {
 public:
  struct Impl;

  // `address`: of this process, as others reach it. `timeout` ends a transfer that does not move.
  struct Options {
    std::string address = "127.0.0.1";
    std::chrono::milliseconds timeout{60000};
  };
  GlooConnections(CoordinatorClient& client, const Options& options);
  ~GlooConnections();

  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The rank of one trial, `order.rank`. To be destroyed before the client tells of the program's
// end.
std::unique_ptr<Transport> make_gloo_transport(CoordinatorClient& client,
                                               GlooConnections& connections,
                                               const TrialOrder& order);

// How this backend does a call: what its transports answer.
Support gloo_support(const CallType& type);

// Empty where this build has Gloo; else one sentence that says what is missing.
std::string why_no_gloo();
// "0.5.0", or "not in this build".
std::string gloo_version();

}  // namespace lockstep::backends
