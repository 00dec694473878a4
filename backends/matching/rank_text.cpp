// Names of ranks, and what each is doing instead of what others expect.
#include "backends/matching/rank_text.h"

#include <fmt/format.h>

#include "backends/matching/signature.h"
#include "core/base/errors.h"

namespace lockstep::backends {

std::string RankTexts::name(Rank rank) const {
  return fmt::format("rank {} ({})", rank.value, mesh.describe(rank));
}

std::string RankTexts::names(std::span<const Rank> ranks) const {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < kMaxTold; ++i) {
    text += (i == 0 ? "" : ", ") + name(ranks[i]);
  }
  if (ranks.size() > kMaxTold) text += fmt::format(" and {} more ranks", ranks.size() - kMaxTold);
  return text;
}

std::string RankTexts::waited_call(const Link& link) const {
  const Meeting& meeting = *link.meeting;
  return fmt::format(
      "{} on {}", calls_to_text(meeting.parties[link.party].calls), to_text(*meeting.group));
}

std::string RankTexts::doing(Rank rank) const {
  const RankState& its = state_of(rank);
  switch (its.status) {
    case RankStatus::kRunning: {
      if (its.waits == nullptr) return "is running";
      const std::span<const Link> links = links_of(*its.waits, its.sequence);
      if (links.empty()) return "is running";
      return fmt::format("carries out {}, to which all have come", waited_call(links.front()));
    }
    case RankStatus::kWaiting: {
      const Link* link = blocking_link(its);
      if (link == nullptr) return fmt::format("waits in '{}'", its.wait_label);
      // A blocking call waits under its own label.
      const Party& party = link->meeting->parties[link->party];
      if (party.calls.front().label == its.wait_label) return "waits for " + waited_call(*link);
      return fmt::format("waits in '{}' for {}", its.wait_label, waited_call(*link));
    }
    case RankStatus::kReturned:
      return "has returned";
    case RankStatus::kThrew:
      return fmt::format("threw: {}", its.error.substr(0, its.error.find('\n')));
    case RankStatus::kCancelled:
      return "was cancelled";
    case RankStatus::kLost:
      return "was lost: " + its.error;
    case RankStatus::kStalled:
      return "has stalled: " + its.error;
  }
  throw InternalError("unknown status of a rank");
}

std::string RankTexts::last_label(Rank rank) const {
  const RankState& its = state_of(rank);
  return its.last_label == nullptr ? "" : *its.last_label;
}

std::string RankTexts::last_call(Rank rank) const {
  const RankState& its = state_of(rank);
  if (its.last_group == nullptr) return "it had made no call yet";
  return fmt::format("its last call was {} '{}' on {}",
                     name_of(its.last_kind),
                     *its.last_label,
                     to_text(*its.last_group));
}

bool is_gone(RankStatus status) {
  switch (status) {
    case RankStatus::kRunning:
    case RankStatus::kWaiting:
    case RankStatus::kCancelled:
      return false;
    case RankStatus::kReturned:
    case RankStatus::kThrew:
    case RankStatus::kLost:
    case RankStatus::kStalled:
      return true;
  }
  throw InternalError("unknown status of a rank");
}

const Link* blocking_link(const RankState& rank) {
  if (rank.status != RankStatus::kWaiting || rank.waits == nullptr) return nullptr;
  for (const Link& link : rank.waits->links) {
    if (link.sequence == rank.sequence && link.meeting->state != MeetingState::kMatched) {
      return &link;
    }
  }
  return nullptr;
}

std::vector<Rank> missing_ranks(const LedgerState& state, const Meeting& meeting) {
  std::vector<Rank> missing;
  for (const Party& party : meeting.parties) {
    const RankStatus status = state.ranks[static_cast<std::size_t>(party.rank.value)].status;
    const bool gone =
        meeting.state == MeetingState::kAbandoned && is_gone(status) && !party.delivered;
    if (!party.arrived || gone) missing.push_back(party.rank);
  }
  return missing;
}

}  // namespace lockstep::backends
