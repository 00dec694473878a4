// One rank of one trial whose calls the coordinator puts in one order: what it has submitted and
// not yet waited for, and the loop that carries out what is due. How that is done a backend says.
//
// No call is carried out before all members have come and agree. Members carry out what they share
// in one order: none waits for another that does something else first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/coordinator/client.h"
#include "core/comm/communicator.h"

namespace lockstep::backends {

// A call with copies of what it only refers to: a ticket may never be waited for.
struct KeptCall {
  CollectiveCall call;
  std::string label;
  std::vector<std::int64_t> input_splits;
  std::vector<std::int64_t> output_splits;
};

struct Submission {
  std::vector<KeptCall> calls;
  int num_missing = 0;  // meetings that are not carried out: its collectives, and each message
};

class OrderedTransport;

// This rank's side of one communicator. Its tickets may outlive the communicator.
struct OrderedMember : TicketSource {
  void wait(std::uint64_t sequence, Stream stream, std::string_view label) override;

  OrderedTransport* transport = nullptr;
  Group group;
  GroupRank me;
  int number = 0;  // of the client's connects
  std::uint64_t num_submits = 0;
  std::map<std::uint64_t, Submission> open;  // by number of the submit; a complete one is gone
  std::optional<Go> own_half;  // the one end of a message to itself whose other end is not due yet
};

// One submit of a rank.
struct SubmitId {
  int communicator = 0;        // by number
  std::uint64_t sequence = 0;  // of the communicator's, from 1
  auto operator<=>(const SubmitId&) const = default;
};

// What is carried out at one time: all collectives of a submit, or one message of it.
struct DueCalls {
  const OrderedMember& member;
  SubmitId submit;
  std::span<const CollectiveCall* const> calls;  // one at least
  std::uint64_t place;                           // as the word to go had it
};

class OrderedTransport : public Transport {
 public:
  std::unique_ptr<Communicator> connect(Rank rank, const Group& group) override;

  // For its communicators and their tickets.
  std::uint64_t submit(OrderedMember& member, std::span<const CollectiveCall> calls);
  void wait(OrderedMember& member, std::uint64_t sequence, Stream stream, std::string_view label);

 protected:
  // `library`: the name that a refusal of a call gives. The client outlives it.
  OrderedTransport(CoordinatorClient& client, Rank rank, std::string_view library)
      : client_(client), rank_(rank), library_(library) {}

  // What a backend does. A message of carry_out() has its other end on another rank.
  virtual void carry_out(const DueCalls& due) = 0;
  virtual void carry_out_own_message(const DueCalls& send, const DueCalls& receive) = 0;
  // After a submit of one call or more; before any of it is carried out.
  virtual void on_submit(const SubmitId& /*submit*/, std::span<const CollectiveCall> /*calls*/) {}
  // At a wait's end: all of the submit has been carried out, or an exception unwinds the stack:
  // then it must neither throw nor block.
  virtual void on_wait(const SubmitId& /*submit*/, Stream /*stream*/, std::string_view /*label*/) {}

  CoordinatorClient& client() const { return client_; }
  Rank rank() const { return rank_; }
  // Something that was submitted has not been carried out.
  bool has_open() const;

 private:
  void check_call(const OrderedMember& member, const CollectiveCall& call) const;
  void follow(const Go& go);
  void follow_own_message(OrderedMember& member, const Go& go, const CollectiveCall& call);
  void complete(OrderedMember& member, const Go& go);

  CoordinatorClient& client_;
  Rank rank_;
  std::string_view library_;
  std::vector<std::unique_ptr<OrderedMember>> members_;  // by number
  std::vector<const CollectiveCall*> due_;               // of the go that is followed
};

// "rank 2: all_reduce 'tp.sum' on tp#0 {2, 3}", with how many more there are.
std::string to_text(const DueCalls& due, Rank rank);

}  // namespace lockstep::backends
