// Looks up the histories of a kind's channels.
#include "backends/matching/usual_call.h"

#include <algorithm>
#include <utility>

namespace lockstep::backends {

PastCall past_call(const CollectiveCall& call) {
  PastCall past{.label = call.label,
                .kind = call.kind,
                .dtype = call.output.dtype,
                .op = call.op,
                .count = 0};
  if (call.kind == CollectiveKind::kAllToAll || call.kind == CollectiveKind::kBarrier) return past;
  const bool by_input = call.kind == CollectiveKind::kReduceScatter;
  past.count = by_input ? call.input.count : call.output.count;
  return past;
}

Channels siblings_of(const RankTexts& texts, const Meeting& meeting) {
  Channels siblings;
  for (const auto& [key, channels] : texts.state.channels) {
    if (key.first != static_cast<int>(meeting.group->kind)) continue;
    for (const auto& channel : channels) {
      siblings.push_back(channel.get());
      if (&channel->group == meeting.group) std::swap(siblings.front(), siblings.back());
    }
  }
  return siblings;
}

std::optional<PastCall> usual_elsewhere(const Channels& siblings, std::uint64_t number) {
  const auto at = static_cast<std::size_t>(number - 1);
  for (std::size_t i = 1; i < siblings.size(); ++i) {
    const std::vector<PastCall>& history = siblings[i]->history;
    if (siblings[i]->ordinal != siblings[0]->ordinal) continue;
    if (at < history.size() && !history[at].label.empty()) return history[at];
  }
  // Else what at least two members of another group agree on so far.
  for (std::size_t i = 1; i < siblings.size(); ++i) {
    for (const Meeting* round : siblings[i]->rounds) {
      if (round->number != number || round->state != MeetingState::kOpen) continue;
      if (round->num_arrived < 2) continue;
      return past_call(call_of(*round, static_cast<std::size_t>(round->first), 0));
    }
  }
  return std::nullopt;
}

std::optional<PastCall> usual_before(const Channels& siblings, std::uint64_t number) {
  const auto at = static_cast<std::size_t>(number - 1);
  const std::vector<PastCall>& own = siblings[0]->history;
  if (at == 0 || at > own.size()) return std::nullopt;
  for (std::size_t i = at - 1; i > 0; --i) {
    if (own[i - 1] == own[at - 1]) return own[i];
  }
  return std::nullopt;
}

bool has_followed(const Channels& siblings, std::string_view first, std::string_view second) {
  return std::any_of(siblings.begin(), siblings.end(), [&](const Channel* channel) {
    const auto& history = channel->history;
    const auto found = std::adjacent_find(
        history.begin(), history.end(), [&](const PastCall& a, const PastCall& b) {
          return a.label == first && b.label == second;
        });
    return found != history.end();
  });
}

bool has_called(const Channels& siblings, std::string_view label) {
  return std::any_of(siblings.begin(), siblings.end(), [&](const Channel* channel) {
    return std::any_of(channel->history.begin(), channel->history.end(), [&](const PastCall& call) {
      return call.label == label;
    });
  });
}

}  // namespace lockstep::backends
