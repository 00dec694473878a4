// Which calls the ranks of a mesh have submitted, which of them meet and agree, and who waits for
// what: the bookkeeping that every backend shares. It moves no data, parks nobody, takes no lock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/matching/channel.h"
#include "backends/matching/finding.h"
#include "core/comm/mesh.h"

namespace lockstep::backends {

// What a submit brought about at one meeting: a round of collectives, or a message.
struct Arrival {
  Meeting* meeting;
  std::size_t party;
  bool opens;      // the first to come
  bool completes;  // the last to come, and all agree
};

class Ledger {
 public:
  // The mesh must outlive it.
  explicit Ledger(const Mesh& mesh);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // One more communicator of the rank for that group; members connect in the same order.
  Member& connect(Rank rank, const Group& group);

  // Calls that call_rules.h accepts; of their buffers only dtypes and counts are looked at. The
  // member's submits are numbered from 1. Collectives arrive first, then messages in their order.
  // Valid until the next submit.
  std::span<const Arrival> submit(Member& me, std::span<const CollectiveCall> calls);
  // Ranks whose wait the last submit has ended.
  std::span<const Rank> unblocked() const { return unblocked_; }

  // The rank waits for one of the member's submits, under a label that outlives the wait. False: it
  // is blocked until the last meeting of that submit completes.
  bool begin_wait(Member& me, std::uint64_t sequence, std::string_view label);
  bool is_blocked(Rank rank) const { return state_of(rank).status == RankStatus::kWaiting; }
  // After a wait whose meetings have all completed: its outputs are defined. `links`: links_of()
  // it.
  void finish_wait(Member& me, std::span<const Link> links);

  // The rank's program is over; of several ends the first counts. It takes its buffers along: a
  // meeting that still needs them never completes.
  void rank_returned(Rank rank);
  void rank_threw(Rank rank, std::string error);
  void rank_lost(Rank rank, std::string how);  // its process or thread is gone: "killed by ..."
  void rank_cancelled(Rank rank);
  // It holds the others up: "not heard of for 8 s", "running for 30 s without a call".
  void rank_stalled(Rank rank, std::string how);

  // Some rank neither is blocked nor has ended. Where none is, and not all have ended: a deadlock.
  bool any_running() const;

  // Of ranks all of which are blocked or have ended, or that will not go on: errors first, then
  // what does not match, who was lost or has stalled, or who waits for whom, else what is pending.
  // None where all is well.
  std::vector<Finding> diagnose() const;

  const LedgerState& state() const { return state_; }
  std::int64_t num_calls() const { return state_.num_calls; }
  std::int64_t num_matched() const { return state_.num_matched; }

 private:
  Channel& channel_for(Rank rank, GroupRank me, const Group& group);
  void join_round(Member& me, std::span<const CollectiveCall> calls);
  void join_message(Member& me, const CollectiveCall& call, int index);
  void arrive(Member& me, Meeting& meeting, std::size_t party);
  void remember(const Member& me, CollectiveKind kind, const std::string& label);
  void complete(Meeting& meeting);
  void end_rank(Rank rank, RankStatus status, std::string error);
  const RankState& state_of(Rank rank) const {
    return state_.ranks[static_cast<std::size_t>(rank.value)];
  }
  RankState& state_of(Rank rank) { return state_.ranks[static_cast<std::size_t>(rank.value)]; }

  const Mesh& mesh_;
  LedgerState state_;
  std::vector<std::vector<Member*>> members_of_rank_;
  std::vector<Arrival> arrivals_;
  std::vector<Rank> unblocked_;
};

}  // namespace lockstep::backends
