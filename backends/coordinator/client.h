// A rank's line to the coordinator: the key-value store, the calls it submits, and the word to go.
//
// One thread uses it. Everything blocks at most as long as is said here, then throws
// ConnectionLost; a trial that is over elsewhere throws RankCancelled out of whatever the rank
// waits in.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/communicator.h"

namespace lockstep::backends {

// The coordinator cannot be reached, or is gone. One sentence with the address.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CoordinatorAddress {
  std::string host;
  int port = 0;
};

// Returns once something listens there; ConnectionLost where, seen from this host, nothing does
// until `patience` is over.
void expect_listener(const CoordinatorAddress& address, std::chrono::milliseconds patience);

// What a rank is to run.
struct TrialOrder {
  std::uint64_t number = 0;  // of the coordinator's trials, from 1
  Rank rank;
  int world = 1;
  // That of the last trial of as many ranks, where that ended well and the same processes serve
  // these; else a new one. What ranks have connected among them is used again under an equal one
  // only.
  std::uint64_t lineup = 0;
  std::string request;  // bytes of whoever gave the order
};

// All members of one meeting have come and agree: each carries it out now. Members get the words in
// one order, so that whoever follows it never waits for one that does something else first.
struct Go {
  int communicator = 0;        // by number of the rank's connects, from 0
  std::uint64_t sequence = 0;  // which submit of that communicator, from 1
  int message = -1;            // index of the call in its submit; -1: all its collectives
  // In the order of all calls of the trial in which ranks of this rank's process take part, from 1.
  std::uint64_t place = 0;

  // Of the same call: its place says nothing that the others do not.
  bool operator==(const Go& other) const {
    return communicator == other.communicator && sequence == other.sequence &&
           message == other.message;
  }
};

class CoordinatorClient {
 public:
  struct Impl;

  // Tries until `patience` is over: the coordinator may not listen yet. `seat` is the place of this
  // process among those that serve ranks; `generation` tells processes of one seat apart.
  struct Options {
    CoordinatorAddress address;
    int seat = 0;
    std::uint64_t generation = 0;
    std::chrono::milliseconds patience{20000};
    // How long nothing at all may listen there.
    std::chrono::milliseconds listener_patience = patience;
  };
  explicit CoordinatorClient(const Options& options);
  ~CoordinatorClient();

  // This machine's end of the line: an address under which others can reach this process.
  std::string local_address() const;

  // Waits for the next order, however long; none: the coordinator says goodbye or has gone.
  std::optional<TrialOrder> next_trial();

  // The store; keys are the coordinator's whole life's. get() waits until somebody has set the key.
  void set(const std::string& key, std::string_view value);
  std::string get(const std::string& key, std::chrono::milliseconds timeout);

  // The trial's program. Numbers communicators from 0 and their submits from 1.
  int connect(const Group& group);
  // Of calls that call_rules.h accepts. Sent with the next wait at the latest.
  void submit(int communicator, std::span<const CollectiveCall> calls);
  void wait(int communicator, std::uint64_t sequence, std::string_view label);
  // The next meeting that this rank takes part in and that all have come to. Blocks. Where the
  // trial is over and an exception already unwinds the stack, nothing is thrown: communicator is
  // then -1.
  Go next_go();
  // Sent with the next wait, or heartbeat, at the latest.
  void done(const Go& go);
  // By what has come so far; does not block.
  bool is_trial_over();

  // The program's end, one of them. `result` is bytes for whoever gave the order.
  void returned(std::string_view result);
  void threw(std::string_view error);
  void cancelled();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::backends
