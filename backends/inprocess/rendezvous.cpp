// Connect, submit, match, wait, deliver.
#include "backends/inprocess/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "backends/matching/diagnosis.h"
#include "backends/matching/signature.h"
#include "backends/matching/usual_call.h"
#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

// The links of one submit. Usually it is the only one under way.
std::span<const Link> links_of(const Member& me, std::uint64_t sequence) {
  const auto first = std::lower_bound(
      me.links.begin(), me.links.end(), sequence, [](const Link& link, std::uint64_t wanted) {
        return link.sequence < wanted;
      });
  auto last = first;
  while (last != me.links.end() && last->sequence == sequence) ++last;
  return {first, last};
}

}  // namespace

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

void Rendezvous::Tickets::wait(std::uint64_t sequence, Stream, std::string_view label) {
  rendezvous_.wait(me_, sequence, label);
}

Rendezvous::Rendezvous(const Mesh& mesh, const RendezvousOptions& options, Parking& parking)
    : mesh_(mesh),
      options_(options),
      parking_(parking),
      exchange_(options.reduction_order, options.schedule_seed) {
  state_.ranks.resize(static_cast<std::size_t>(mesh.world()));
  members_of_rank_.resize(state_.ranks.size());
}

std::unique_ptr<Communicator> Rendezvous::connect(Rank rank, const Group& group) {
  const std::optional<GroupRank> me = group.rank_of(rank);
  LOCKSTEP_CHECK(me.has_value(),
                 fmt::format("rank {} is no member of {}", rank.value, to_text(group)));
  const std::lock_guard guard(parking_);
  Channel& channel = channel_for(rank, *me, group);
  Member& member = channel.members[static_cast<std::size_t>(me->value)];
  member.connected = true;
  members_of_rank_[static_cast<std::size_t>(rank.value)].push_back(&member);
  tickets_.push_back(std::make_unique<Tickets>(*this, member));
  return std::make_unique<InProcessCommunicator>(channel.group, *tickets_.back());
}

// It reduces, copies and delivers everything that call_rules.h accepts by its own loops.
Support Rendezvous::supports(const CallType&) const { return {.kind = SupportKind::kNative}; }

// The first one of that group that the rank has not connected to.
Channel& Rendezvous::channel_for(Rank rank, GroupRank me, const Group& group) {
  auto& channels = state_.channels[{static_cast<int>(group.kind), group.index}];
  for (const auto& channel : channels) {
    if (channel->group == group &&
        !channel->members[static_cast<std::size_t>(me.value)].connected) {
      return *channel;
    }
  }
  for (const Rank other : group.ranks) {
    LOCKSTEP_CHECK(other.value >= 0 && other.value < mesh_.world(),
                   fmt::format("rank {} connects to {}, but the world has {} ranks",
                               rank.value,
                               to_text(group),
                               mesh_.world()));
  }
  channels.push_back(std::make_unique<Channel>(group, static_cast<int>(channels.size())));
  return *channels.back();
}

std::uint64_t Rendezvous::submit(Member& me, std::span<const CollectiveCall> calls) {
  std::size_t num_messages = 0;
  for (const CollectiveCall& call : calls) {
    check_call(me, call);
    if (is_message(call.kind)) ++num_messages;
  }
  {
    const std::lock_guard guard(parking_);
    ++me.num_submits;
    if (parking_.cancelled()) {
      if (std::uncaught_exceptions() == 0) throw RankCancelled{};
      return me.num_submits;
    }
    state_.num_calls += static_cast<std::int64_t>(calls.size());
    if (num_messages < calls.size()) join_round(me, calls);
    for (const CollectiveCall& call : calls) {
      if (num_messages > 0 && is_message(call.kind)) join_message(me, call);
    }
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

void Rendezvous::join_round(Member& me, std::span<const CollectiveCall> calls) {
  Channel& channel = *me.channel;
  const std::uint64_t number = ++me.num_rounds;
  const auto position = static_cast<std::size_t>(number - channel.num_closed - 1);
  if (position == channel.rounds.size()) {
    channel.rounds.push_back(&open_meeting(channel, false, number));
  }
  Meeting& meeting = *channel.rounds[position];
  const auto party = static_cast<std::size_t>(me.group_rank.value);
  for (const CollectiveCall& call : calls) {
    if (!is_message(call.kind)) meeting.parties[party].calls.push_back(call);
  }
  arrive(me, meeting, party);
  if (meeting.num_arrived < channel.group.size()) return;
  // All members have been here, so they have been in every round before: it is the oldest.
  channel.rounds.erase(channel.rounds.begin());
  ++channel.num_closed;
  if (channel.history.size() == kMaxHistory) return;
  if (meeting.state != MeetingState::kMatched) return channel.history.push_back({});
  PastCall past = past_call(meeting.parties[party].calls.front());
  past.label = channel.kept_label(past.label);
  channel.history.push_back(past);
}

void Rendezvous::join_message(Member& me, const CollectiveCall& call) {
  Channel& channel = *me.channel;
  const bool sends = call.kind == CollectiveKind::kSend;
  const int from = sends ? me.group_rank.value : call.peer.value;
  const int to = sends ? call.peer.value : me.group_rank.value;
  MessageQueue& queue = channel.messages[{from, to}];
  const std::uint64_t number = sends ? ++queue.num_sends : ++queue.num_receives;
  Meeting* meeting = nullptr;
  if (number > (sends ? queue.num_receives : queue.num_sends)) {
    meeting = &open_meeting(channel, true, number);
    meeting->parties[0].rank = channel.group.ranks[static_cast<std::size_t>(from)];
    meeting->parties[1].rank = channel.group.ranks[static_cast<std::size_t>(to)];
    queue.open.push_back(meeting);
  } else {
    meeting = queue.open.front();
    queue.open.erase(queue.open.begin());
  }
  const std::size_t party = sends ? 0 : 1;
  meeting->parties[party].calls.push_back(call);
  arrive(me, *meeting, party);
}

Meeting& Rendezvous::open_meeting(Channel& channel, bool is_message, std::uint64_t number) {
  Meeting& meeting = channel.take_meeting(is_message, number);
  meeting.late = options_.completion == Completion::kLate;
  if (options_.completion == Completion::kSeeded) {
    const std::uint64_t kind_of_number = 2 * number + (is_message ? 1 : 0);
    meeting.late = (random_bits(options_.schedule_seed, channel.stream, kind_of_number) & 1U) != 0;
  }
  return meeting;
}

void Rendezvous::arrive(Member& me, Meeting& meeting, std::size_t party) {
  me.links.push_back({.sequence = me.num_submits, .meeting = &meeting, .party = party});
  Party& mine = meeting.parties[party];
  keep_copies(mine);
  mine.arrived = true;
  if (meeting.num_arrived++ == 0) meeting.first = static_cast<int>(party);
  if (meeting.state != MeetingState::kMismatched && !agrees(meeting, party)) {
    meeting.state = MeetingState::kMismatched;
    state_.mismatched.push_back(&meeting);
  }
  const bool all_here = meeting.num_arrived == static_cast<int>(meeting.parties.size());
  const bool matched = all_here && meeting.state == MeetingState::kOpen;
  // The last to arrive at an early meeting has its outputs written right now.
  if (!matched || meeting.late) Exchange::poison_outputs(mine.calls);
  if (matched) complete(*me.channel, meeting);
}

bool Rendezvous::agrees(Meeting& meeting, std::size_t party) const {
  const auto first = static_cast<std::size_t>(meeting.first);
  if (!meeting.is_message && first != party &&
      !agree(meeting.parties[first].calls, meeting.parties[party].calls)) {
    return false;
  }
  return meeting.num_arrived < static_cast<int>(meeting.parties.size()) || all_agree(meeting);
}

void Rendezvous::complete(Channel& channel, Meeting& meeting) {
  meeting.state = MeetingState::kMatched;
  if (!meeting.late) exchange_.run(meeting, channel.order_stream);
  for (const Party& party : meeting.parties) {
    state_.num_matched += static_cast<std::int64_t>(party.calls.size());
    if (!party.waits) continue;
    RankState& waiting = state_of(party.rank);
    if (--waiting.num_missing == 0) parking_.wake(party.rank);
  }
}

void Rendezvous::wait(Member& me, std::uint64_t sequence, std::string_view label) {
  const std::lock_guard guard(parking_);
  // Only this rank changes its links, and it is here.
  const std::span<const Link> links = links_of(me, sequence);
  await(me, links, label);
  for (const Link& link : links) {
    if (link.meeting->state != MeetingState::kMatched) return;  // cancelled while unwinding
  }
  for (const Link& link : links) deliver(*me.channel, link);
  const auto first = me.links.begin() + (links.data() - me.links.data());
  me.links.erase(first, first + std::ssize(links));
}

void Rendezvous::await(Member& me, std::span<const Link> links, std::string_view label) {
  int num_missing = 0;
  for (const Link& link : links) {
    if (link.meeting->state == MeetingState::kMatched) continue;
    ++num_missing;
    link.meeting->parties[link.party].waits = true;
  }
  if (num_missing == 0) return;
  RankState& state = state_of(me.rank);
  state.waits = &me;
  state.sequence = links.front().sequence;
  state.wait_label = label;
  state.num_missing = num_missing;
  state.status = RankStatus::kWaiting;
  while (state.num_missing > 0) {
    parking_.park(me.rank);
    if (parking_.cancelled()) return;
  }
  state.status = RankStatus::kRunning;
}

void Rendezvous::deliver(Channel& channel, const Link& link) {
  Meeting& meeting = *link.meeting;
  if (meeting.late) {
    if (!meeting.staged) exchange_.stage(meeting, channel.order_stream);
    exchange_.deliver(meeting, link.party);
  }
  meeting.parties[link.party].delivered = true;
  if (++meeting.num_delivered < static_cast<int>(meeting.parties.size())) return;
  channel.give_back(meeting);
}

void Rendezvous::rank_returned(Rank rank) { end_rank(rank, RankStatus::kReturned); }

void Rendezvous::rank_cancelled(Rank rank) {
  if (parking_.cancelled()) return end_rank(rank, RankStatus::kCancelled);
  rank_threw(rank, "RankCancelled, though nothing had cancelled it");
}

void Rendezvous::rank_threw(Rank rank, std::string error) {
  {
    const std::lock_guard guard(parking_);
    state_of(rank).error = std::move(error);
  }
  end_rank(rank, RankStatus::kThrew);
}

// Its buffers are gone: whatever still needs them can never complete.
void Rendezvous::end_rank(Rank rank, RankStatus status) {
  const std::lock_guard guard(parking_);
  state_of(rank).status = status;
  if (parking_.cancelled()) return;
  for (const Member* member : members_of_rank_[static_cast<std::size_t>(rank.value)]) {
    for (const Link& link : member->links) {
      Meeting& meeting = *link.meeting;
      const bool reads_later = meeting.late && !meeting.staged;
      if (meeting.state == MeetingState::kOpen ||
          (meeting.state == MeetingState::kMatched && reads_later)) {
        meeting.state = MeetingState::kAbandoned;
      }
    }
  }
}

void Rendezvous::all_wait() { kept_findings_ = diagnose(mesh_, state_); }

std::vector<Finding> Rendezvous::findings() const {
  return kept_findings_.empty() ? diagnose(mesh_, state_) : kept_findings_;
}

}  // namespace lockstep::backends
