// The in-process backend: ranks of one process meet here for every collective and message.
//
// A submit never blocks. A ticket is complete when all members have submitted and agree, a
// message's when both ends have (nothing is sent ahead). Each ticket is waited for on its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/inprocess/exchange.h"
#include "backends/inprocess/parking.h"
#include "backends/matching/finding.h"
#include "backends/matching/ledger.h"
#include "core/comm/mesh.h"
#include "core/config/case.h"

namespace lockstep::backends {

struct RendezvousOptions {
  ReductionOrder reduction_order = ReductionOrder::kRank;
  Completion completion = Completion::kEarly;
  std::uint64_t schedule_seed = 0;
};

class Rendezvous : public Transport {
 public:
  // Mesh, parking and mover must outlive it, and it all communicators and tickets.
  Rendezvous(const Mesh& mesh, const RendezvousOptions& options, Parking& parking, Mover& mover);

  Support supports(const CallType& type) const override;
  std::unique_ptr<Communicator> connect(Rank rank, const Group& group) override;

  // The rank's program is over; `error` is what it threw.
  void rank_returned(Rank rank);
  void rank_threw(Rank rank, std::string error);
  void rank_cancelled(Rank rank);

  // With the lock held: every rank that is left waits. Keeps what is to be told about it.
  void all_wait();
  // After the last rank: what all_wait kept, or errors, mismatches and what is still pending.
  std::vector<Finding> findings() const;
  std::int64_t num_calls() const { return ledger_.num_calls(); }
  std::int64_t num_matched() const { return ledger_.num_matched(); }

 private:
  // Gives a member's tickets out, which may outlive the communicator that they came from.
  class Tickets : public TicketSource {
   public:
    Tickets(Rendezvous& rendezvous, Member& me) : rendezvous_(rendezvous), me_(me) {}
    Ticket submit(std::span<const CollectiveCall> calls);
    void wait(std::uint64_t sequence, Stream stream, std::string_view label) override;

   private:
    Rendezvous& rendezvous_;
    Member& me_;
  };
  class InProcessCommunicator;

  std::uint64_t submit(Member& me, std::span<const CollectiveCall> calls);
  void wait(Member& me, std::uint64_t sequence, Stream stream, std::string_view label);

  void check_call(const Member& me, const CollectiveCall& call) const;
  void move_data(const Channel& channel, const Arrival& arrival);
  bool is_late(const Channel& channel, const Meeting& meeting) const;
  void deliver(const Channel& channel, const Link& link, Stream waiting);

  const Mesh& mesh_;
  RendezvousOptions options_;
  Parking& parking_;
  Exchange exchange_;
  Ledger ledger_;
  std::vector<std::unique_ptr<Tickets>> tickets_;
  std::vector<Finding> kept_findings_;
};

}  // namespace lockstep::backends
