// One rank of one trial over Gloo: what it has submitted and not yet waited for, and the loop that
// carries out what is due.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gloo/connections.h"
#include "backends/gloo/transport.h"
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

class GlooTransport;

// This rank's side of one communicator. Its tickets may outlive the communicator.
struct GlooMember : TicketSource {
  void wait(std::uint64_t sequence, Stream stream, std::string_view label) override;

  GlooTransport* transport = nullptr;
  Group group;
  GroupRank me;
  int number = 0;  // of the client's connects
  std::uint64_t num_submits = 0;
  std::map<std::uint64_t, Submission> open;  // by number of the submit; a complete one is gone
  std::optional<Go> own_half;  // the one end of a message to itself whose other end is not due yet
};

class GlooTransport : public Transport {
 public:
  GlooTransport(CoordinatorClient& client, GlooConnections::Impl& connections, Rank rank);
  ~GlooTransport() override;

  Support supports(const CallType& type) const override { return gloo_support(type); }
  std::unique_ptr<Communicator> connect(Rank rank, const Group& group) override;

  // For its communicators and their tickets.
  std::uint64_t submit(GlooMember& member, std::span<const CollectiveCall> calls);
  void wait(GlooMember& member, std::uint64_t sequence, std::string_view label);

 private:
  void check_call(const GlooMember& member, const CollectiveCall& call) const;
  void carry_out(const Go& go);
  void carry_out_calls(GlooMember& member, const Submission& submission, const Go& go);
  void carry_out_call(const GlooMember& member, const CollectiveCall& call);
  void complete(GlooMember& member, const Go& go);

  CoordinatorClient& client_;
  GlooConnections::Impl& connections_;
  Rank rank_;
  std::vector<std::unique_ptr<GlooMember>> members_;  // by number
};

}  // namespace lockstep::backends
