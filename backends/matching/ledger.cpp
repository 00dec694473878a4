// Connect, submit, match, wait, end.
#include "backends/matching/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/matching/diagnosis.h"
#include "backends/matching/signature.h"
#include "backends/matching/usual_call.h"
#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

// Whether the party that has just arrived agrees with those before it.
bool agrees(const Meeting& meeting, std::size_t party) {
  const auto first = static_cast<std::size_t>(meeting.first);
  if (!meeting.is_message && first != party &&
      !agree(meeting.parties[first].calls, meeting.parties[party].calls)) {
    return false;
  }
  return meeting.num_arrived < static_cast<int>(meeting.parties.size()) || all_agree(meeting);
}

}  // namespace

Ledger::Ledger(const Mesh& mesh) : mesh_(mesh) {
  state_.ranks.resize(static_cast<std::size_t>(mesh.world()));
  members_of_rank_.resize(state_.ranks.size());
}

Member& Ledger::connect(Rank rank, const Group& group) {
  const std::optional<GroupRank> me = group.rank_of(rank);
  LOCKSTEP_CHECK(me.has_value(),
                 fmt::format("rank {} is no member of {}", rank.value, to_text(group)));
  Channel& channel = channel_for(rank, *me, group);
  Member& member = channel.members[static_cast<std::size_t>(me->value)];
  std::vector<Member*>& members = members_of_rank_[static_cast<std::size_t>(rank.value)];
  member.number = static_cast<int>(members.size());
  member.connected = true;
  members.push_back(&member);
  return member;
}

// The first one of that group that the rank has not connected to.
Channel& Ledger::channel_for(Rank rank, GroupRank me, const Group& group) {
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

std::span<const Arrival> Ledger::submit(Member& me, std::span<const CollectiveCall> calls) {
  arrivals_.clear();
  unblocked_.clear();
  ++me.num_submits;
  state_.num_calls += std::ssize(calls);
  std::size_t num_messages = 0;
  for (const CollectiveCall& call : calls) num_messages += is_message(call.kind) ? 1 : 0;
  if (num_messages < calls.size()) join_round(me, calls);
  for (std::size_t i = 0; num_messages > 0 && i < calls.size(); ++i) {
    if (is_message(calls[i].kind)) join_message(me, calls[i], static_cast<int>(i));
  }
  return arrivals_;
}

void Ledger::join_round(Member& me, std::span<const CollectiveCall> calls) {
  Channel& channel = *me.channel;
  const std::uint64_t number = ++me.num_rounds;
  const auto position = static_cast<std::size_t>(number - channel.num_closed - 1);
  if (position == channel.rounds.size()) {
    channel.rounds.push_back(&channel.take_meeting(false, number));
  }
  Meeting& meeting = *channel.rounds[position];
  const auto party = static_cast<std::size_t>(me.group_rank.value);
  for (const CollectiveCall& call : calls) {
    if (!is_message(call.kind)) meeting.parties[party].calls.push_back(call);
  }
  arrive(me, meeting, party);
  // What a round's party keeps is overwritten by later rounds of the same member only.
  const std::vector<CollectiveCall>& own = meeting.parties[party].calls;
  remember(me, own.back().kind, meeting.parties[party].labels[own.size() - 1]);
  if (meeting.num_arrived < channel.group.size()) return;
  // All members have been here, so they have been in every round before: it is the oldest.
  channel.rounds.erase(channel.rounds.begin());
  ++channel.num_closed;
  if (channel.history.size() == kMaxHistory) return;
  if (meeting.state != MeetingState::kMatched) return channel.history.push_back({});
  PastCall past = past_call(own.front());
  past.label = channel.kept_label(past.label);
  channel.history.push_back(past);
}

void Ledger::join_message(Member& me, const CollectiveCall& call, int index) {
  Channel& channel = *me.channel;
  const bool sends = call.kind == CollectiveKind::kSend;
  const int from = sends ? me.group_rank.value : call.peer.value;
  const int to = sends ? call.peer.value : me.group_rank.value;
  MessageQueue& queue = channel.messages[{from, to}];
  const std::uint64_t number = sends ? ++queue.num_sends : ++queue.num_receives;
  Meeting* meeting = nullptr;
  if (number > (sends ? queue.num_receives : queue.num_sends)) {
    meeting = &channel.take_meeting(true, number);
    meeting->parties[0].rank = channel.group.ranks[static_cast<std::size_t>(from)];
    meeting->parties[1].rank = channel.group.ranks[static_cast<std::size_t>(to)];
    queue.open.push_back(meeting);
  } else {
    meeting = queue.open.front();
    queue.open.erase(queue.open.begin());
  }
  const std::size_t party = sends ? 0 : 1;
  meeting->parties[party].calls.push_back(call);
  meeting->parties[party].message = index;
  arrive(me, *meeting, party);
  me.message_label.assign(call.label);
  remember(me, call.kind, me.message_label);
}

void Ledger::remember(const Member& me, CollectiveKind kind, const std::string& label) {
  RankState& state = state_of(me.rank);
  state.last_group = &me.channel->group;
  state.last_kind = kind;
  state.last_label = &label;
}

void Ledger::arrive(Member& me, Meeting& meeting, std::size_t party) {
  me.links.push_back({.sequence = me.num_submits, .meeting = &meeting, .party = party});
  Party& mine = meeting.parties[party];
  keep_copies(mine);
  mine.arrived = true;
  mine.member = &me;
  mine.sequence = me.num_submits;
  const bool opens = meeting.num_arrived++ == 0;
  if (opens) meeting.first = static_cast<int>(party);
  if (meeting.state != MeetingState::kMismatched && !agrees(meeting, party)) {
    meeting.state = MeetingState::kMismatched;
    state_.mismatched.push_back(&meeting);
  }
  const bool all_here = meeting.num_arrived == static_cast<int>(meeting.parties.size());
  const bool completes = all_here && meeting.state == MeetingState::kOpen;
  if (completes) complete(meeting);
  arrivals_.push_back(
      {.meeting = &meeting, .party = party, .opens = opens, .completes = completes});
}

void Ledger::complete(Meeting& meeting) {
  meeting.state = MeetingState::kMatched;
  for (const Party& party : meeting.parties) {
    state_.num_matched += std::ssize(party.calls);
    if (!party.waits) continue;
    RankState& waiting = state_of(party.rank);
    if (--waiting.num_missing > 0) continue;
    waiting.status = RankStatus::kRunning;
    unblocked_.push_back(party.rank);
  }
}

bool Ledger::begin_wait(Member& me, std::uint64_t sequence, std::string_view label) {
  RankState& state = state_of(me.rank);
  state.waits = &me;
  state.sequence = sequence;
  int num_missing = 0;
  for (const Link& link : links_of(me, sequence)) {
    if (link.meeting->state == MeetingState::kMatched) continue;
    ++num_missing;
    link.meeting->parties[link.party].waits = true;
  }
  if (num_missing == 0) return true;
  state.num_missing = num_missing;
  state.status = RankStatus::kWaiting;
  state.wait_label = label;
  return false;
}

void Ledger::finish_wait(Member& me, std::span<const Link> links) {
  for (const Link& link : links) {
    Meeting& meeting = *link.meeting;
    meeting.parties[link.party].delivered = true;
    if (++meeting.num_delivered < static_cast<int>(meeting.parties.size())) continue;
    me.channel->give_back(meeting);
  }
  if (links.size() == me.links.size()) {
    me.links.clear();
  } else {
    const auto first = me.links.begin() + (links.data() - me.links.data());
    me.links.erase(first, first + std::ssize(links));
  }
  state_of(me.rank).waits = nullptr;
}

void Ledger::rank_returned(Rank rank) { end_rank(rank, RankStatus::kReturned, {}); }
void Ledger::rank_cancelled(Rank rank) { end_rank(rank, RankStatus::kCancelled, {}); }

void Ledger::rank_threw(Rank rank, std::string error) {
  end_rank(rank, RankStatus::kThrew, std::move(error));
}

void Ledger::rank_lost(Rank rank, std::string how) {
  end_rank(rank, RankStatus::kLost, std::move(how));
}

void Ledger::rank_stalled(Rank rank, std::string how) {
  end_rank(rank, RankStatus::kStalled, std::move(how));
}

void Ledger::end_rank(Rank rank, RankStatus status, std::string error) {
  RankState& state = state_of(rank);
  if (state.status != RankStatus::kRunning && state.status != RankStatus::kWaiting) return;
  state.status = status;
  state.error = std::move(error);
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

bool Ledger::any_running() const {
  return std::any_of(state_.ranks.begin(), state_.ranks.end(), [](const RankState& rank) {
    return rank.status == RankStatus::kRunning;
  });
}

std::vector<Finding> Ledger::diagnose() const { return backends::diagnose(mesh_, state_); }

}  // namespace lockstep::backends
