// Connect, submit, match, wait, deliver.
#include "backends/inprocess/rendezvous.h"

#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <utility>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {

class Rendezvous::InProcessCommunicator : public Communicator {
 public:
  InProcessCommunicator(const Group& group, Tickets& tickets) : group_(group), tickets_(tickets) {}

  const Group& group() const override { return group_; }
  Ticket submit(std::span<const CollectiveCall> calls) override { return tickets_.submit(calls); }

 private:
  const Group& group_;
  Tickets& tickets_;
};

Ticket Rendezvous::Tickets::submit(std::span<const CollectiveCall> calls) {
  return {.source = this, .sequence = rendezvous_.submit(me_, calls)};
}

void Rendezvous::Tickets::wait(std::uint64_t sequence, Stream stream, std::string_view label) {
  rendezvous_.wait(me_, sequence, stream, label);
}

Rendezvous::Rendezvous(const Mesh& mesh,
                       const RendezvousOptions& options,
                       Parking& parking,
                       Mover& mover)
    : mesh_(mesh),
      options_(options),
      parking_(parking),
      exchange_(options.reduction_order, options.schedule_seed, mover),
      ledger_(mesh) {}

// It reduces, copies and delivers everything that call_rules.h accepts by its own loops.
Support Rendezvous::supports(const CallType&) const { return {.kind = SupportKind::kNative}; }

std::unique_ptr<Communicator> Rendezvous::connect(Rank rank, const Group& group) {
  const std::lock_guard guard(parking_);
  Member& member = ledger_.connect(rank, group);
  tickets_.push_back(std::make_unique<Tickets>(*this, member));
  return std::make_unique<InProcessCommunicator>(member.channel->group, *tickets_.back());
}

std::uint64_t Rendezvous::submit(Member& me, std::span<const CollectiveCall> calls) {
  for (const CollectiveCall& call : calls) check_call(me, call);
  {
    const std::lock_guard guard(parking_);
    if (parking_.cancelled()) {
      if (std::uncaught_exceptions() == 0) throw RankCancelled{};
      return ++me.num_submits;
    }
    exchange_.meet(me.rank, calls);
    for (const Arrival& arrival : ledger_.submit(me, calls)) move_data(*me.channel, arrival);
    for (const Rank rank : ledger_.unblocked()) parking_.wake(rank);
  }
  parking_.pause(me.rank);
  return me.num_submits;
}

void Rendezvous::check_call(const Member& me, const CollectiveCall& call) const {
  const auto wrong = why_wrong(call, me.group_rank, me.channel->group.size());
  if (!wrong) return;
  throw InternalError(fmt::format("rank {} ({}): {} '{}' on {}: {}",
                                  me.rank.value,
                                  mesh_.describe(me.rank),
                                  name_of(call.kind),
                                  call.label,
                                  to_text(me.channel->group),
                                  *wrong));
}

void Rendezvous::move_data(const Channel& channel, const Arrival& arrival) {
  Meeting& meeting = *arrival.meeting;
  if (arrival.opens) meeting.late = is_late(channel, meeting);
  // The last to arrive at an early meeting has its outputs written right now.
  if (!arrival.completes || meeting.late) {
    exchange_.poison_outputs(meeting.parties[arrival.party]);
  }
  if (arrival.completes && !meeting.late) exchange_.run(meeting, channel.order_stream);
}

bool Rendezvous::is_late(const Channel& channel, const Meeting& meeting) const {
  switch (options_.completion) {
    case Completion::kEarly:
      return false;
    case Completion::kLate:
      return true;
    case Completion::kSeeded: {
      const std::uint64_t kind_of_number = 2 * meeting.number + (meeting.is_message ? 1 : 0);
      return (random_bits(options_.schedule_seed, channel.stream, kind_of_number) & 1U) != 0;
    }
  }
  throw InternalError("unknown completion");
}

void Rendezvous::wait(Member& me, std::uint64_t sequence, Stream stream, std::string_view label) {
  const std::lock_guard guard(parking_);
  // Asked again after each wait: before this rank's turn came, another may have ended, and taken
  // along what it had not been waited for.
  while (!ledger_.begin_wait(me, sequence, label)) {
    do {
      parking_.park(me.rank);
    } while (ledger_.is_blocked(me.rank) && !parking_.cancelled());
    if (ledger_.is_blocked(me.rank)) return;  // cancelled while unwinding
  }
  // Only this rank changes its links, and it is here.
  const std::span<const Link> links = links_of(me, sequence);
  for (const Link& link : links) deliver(*me.channel, link, stream);
  ledger_.finish_wait(me, links);
}

void Rendezvous::deliver(const Channel& channel, const Link& link, Stream waiting) {
  Meeting& meeting = *link.meeting;
  if (!meeting.late) return exchange_.follow(meeting, link.party, waiting);
  if (!meeting.staged) exchange_.stage(meeting, channel.order_stream);
  exchange_.deliver(meeting, link.party, waiting);
}

void Rendezvous::rank_returned(Rank rank) {
  const std::lock_guard guard(parking_);
  ledger_.rank_returned(rank);
}

void Rendezvous::rank_cancelled(Rank rank) {
  const std::lock_guard guard(parking_);
  if (parking_.cancelled()) return ledger_.rank_cancelled(rank);
  ledger_.rank_threw(rank, "RankCancelled, though nothing had cancelled it");
}

void Rendezvous::rank_threw(Rank rank, std::string error) {
  const std::lock_guard guard(parking_);
  ledger_.rank_threw(rank, std::move(error));
}

void Rendezvous::all_wait() { kept_findings_ = ledger_.diagnose(); }

std::vector<Finding> Rendezvous::findings() const {
  return kept_findings_.empty() ? ledger_.diagnose() : kept_findings_;
}

}  // namespace lockstep::backends
