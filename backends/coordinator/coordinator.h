// The one process that knows what all ranks do: key-value store, ledger of calls, the word to go,
// and, when a trial cannot end, who is at fault.
//
// It moves no tensor. Ranks are processes (or threads) that connect over TCP; a rank whose line
// breaks is lost. Used by one thread, which is inside run() while a trial is under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/matching/finding.h"
#include "core/comm/mesh.h"

namespace lockstep::backends {

struct CoordinatorOptions {
  // A listening socket that is taken over; -1: one of its own, on this address.
  int listening = -1;
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any that is free
};

// A process that serves ranks and has said so.
struct SeatId {
  int seat = 0;
  std::uint64_t generation = 0;
  auto operator<=>(const SeatId&) const = default;
};

struct TrialLimits {
  // No rank has submitted, completed or waited for anything for so long: the trial is given up, and
  // who holds it up is found out.
  std::chrono::milliseconds stall{30000};
};

struct TrialOutcome {
  std::vector<Finding> findings;     // none: every rank returned and every call completed
  std::vector<std::string> results;  // by rank, what returned() gave; empty of one that did not
  std::int64_t num_calls = 0;
  std::int64_t num_matched = 0;
};

// An address cannot be listened on. One sentence: "cannot listen on HOST:PORT: ...".
class ListenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A socket that listens on the address, to be handed to a coordinator of this process or of one
// that inherits it; it closes on exec until somebody says otherwise.
int listen_on(const std::string& host, int port);

class Coordinator {
 public:
  struct Impl;

  explicit Coordinator(const CoordinatorOptions& options);
  ~Coordinator();

  int port() const;

  // By all that has arrived so far.
  bool is_here(const SeatId& id);

  // Waits until all of these are here; false after `patience`, or once `give_up` says so (asked a
  // few times a second).
  bool wait_for_seats(const std::vector<SeatId>& seats,
                      std::chrono::milliseconds patience,
                      const std::function<bool()>& give_up);

  // The store, from this side; none once `patience` is over.
  void set(const std::string& key, const std::string& value);
  std::optional<std::string> get(const std::string& key, std::chrono::milliseconds patience);

  // One trial: rank i of the mesh runs on seats[i], which must be here. Returns when every rank has
  // ended or none can go on; then those that have not ended were told that it is over, and must not
  // be used again. `how_ended` is asked once for each lost seat: "killed by signal 9 (Killed)".
  // `processes`: which process serves each rank, for ranks of one are told the order of its calls;
  // empty: each another.
  TrialOutcome run(const Mesh& mesh,
                   const std::vector<SeatId>& seats,
                   const std::string& request,
                   const TrialLimits& limits,
                   const std::function<std::string(const SeatId&)>& how_ended,
                   const std::vector<int>& processes = {});

  // Tells every process that is here, and each that comes until `patience` is over or `num` seats
  // have been told, that nothing more will come.
  void say_goodbye(int num, std::chrono::milliseconds patience);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::backends
