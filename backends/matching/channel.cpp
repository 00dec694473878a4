// A channel's members and random streams, and the meetings that it uses again.
#include "backends/matching/channel.h"

#include "core/base/random.h"

namespace lockstep::backends {

Channel::Channel(const Group& channel_group, int group_ordinal)
    : group(channel_group), ordinal(group_ordinal), members(channel_group.ranks.size()) {
  const std::uint64_t kind = stream_of(name_of(group.kind));
  const auto number = static_cast<std::uint64_t>(ordinal);
  order_stream = random_bits(kind, 0, number);
  stream = random_bits(kind, static_cast<std::uint64_t>(group.index), number);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].channel = this;
    members[i].rank = group.ranks[i];
    members[i].group_rank = GroupRank{static_cast<int>(i)};
  }
}

Meeting& Channel::take_meeting(bool is_message, std::uint64_t number) {
  std::vector<Meeting*>& free = is_message ? free_messages : free_rounds;
  if (free.empty()) {
    meetings.push_back(std::make_unique<Meeting>());
    Meeting& fresh = *meetings.back();
    fresh.group = &group;
    fresh.is_message = is_message;
    fresh.parties.resize(is_message ? 2 : group.ranks.size());
    for (std::size_t i = 0; !is_message && i < fresh.parties.size(); ++i) {
      fresh.parties[i].rank = group.ranks[i];
    }
    free.push_back(&fresh);
  }
  Meeting& meeting = *free.back();
  free.pop_back();
  for (Party& party : meeting.parties) {
    party.arrived = party.waits = party.delivered = false;
    party.message = -1;
    party.calls.clear();
  }
  meeting.number = number;
  meeting.num_arrived = meeting.num_delivered = 0;
  meeting.state = MeetingState::kOpen;
  meeting.late = meeting.staged = false;
  return meeting;
}

void Channel::give_back(Meeting& meeting) {
  (meeting.is_message ? free_messages : free_rounds).push_back(&meeting);
}

std::string_view Channel::kept_label(std::string_view label) {
  const auto found = labels.find(label);
  return found != labels.end() ? *found : *labels.emplace(label).first;
}

}  // namespace lockstep::backends
