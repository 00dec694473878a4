// Ranks that do the same share a line.
#include "backends/matching/whereabouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::backends {
namespace {

using Deeds = std::vector<std::pair<std::string, std::vector<Rank>>>;

Deeds deeds_of(std::span<const Rank> ranks, const std::function<std::string(Rank)>& deed_of) {
  Deeds deeds;
  for (const Rank rank : ranks) {
    std::string doing = deed_of(rank);
    const auto found = std::find_if(
        deeds.begin(), deeds.end(), [&](const auto& deed) { return deed.first == doing; });
    if (found != deeds.end()) {
      found->second.push_back(rank);
    } else {
      deeds.emplace_back(std::move(doing), std::vector<Rank>{rank});
    }
  }
  return deeds;
}

std::string missing_text(const RankTexts& texts, const Meeting& meeting) {
  const std::vector<Rank> missing = missing_ranks(texts.state, meeting);
  const Deeds deeds = deeds_of(missing, [&](Rank rank) {
    std::string doing = texts.doing(rank);
    if (meeting.state == MeetingState::kAbandoned && is_gone(texts.state_of(rank).status)) {
      doing += ", its part of the call not waited for or never made";
    }
    return doing;
  });
  std::string text;
  for (std::size_t i = 0; i < deeds.size() && i < kMaxTold; ++i) {
    const auto& [doing, ranks] = deeds[i];
    text += fmt::format("\n    missing: {}, {} {}",
                        texts.names(ranks),
                        ranks.size() == 1 ? "which" : "each of which",
                        doing);
  }
  if (deeds.size() > kMaxTold) text += "\n    and others are missing";
  return text;
}

// One line for each group of ranks in the same wait, below it those whom they miss.
std::string waits_text(const RankTexts& texts, const std::vector<Rank>& waiting) {
  using Place = std::pair<const Meeting*, std::string_view>;
  std::vector<std::pair<Place, std::vector<Rank>>> places;  // in the order of their lowest ranks
  std::map<Place, std::size_t> position;
  for (const Rank rank : waiting) {
    const RankState& its = texts.state_of(rank);
    const Link* link = blocking_link(its);
    const Place place{link == nullptr ? nullptr : link->meeting, its.wait_label};
    const auto [found, is_new] = position.try_emplace(place, places.size());
    if (is_new) places.push_back({place, {}});
    places[found->second].second.push_back(rank);
  }
  // What does not match is why the rest waits.
  std::stable_partition(places.begin(), places.end(), [](const auto& told) {
    return told.first.first != nullptr && told.first.first->state == MeetingState::kMismatched;
  });
  std::string text;
  std::size_t num_told = 0;
  for (const auto& [place, ranks] : places) {
    if (num_told >= kMaxTold) break;
    num_told += ranks.size();
    text += fmt::format("\n  {}: {}", texts.names(ranks), texts.doing(ranks.front()));
    if (place.first == nullptr) continue;
    const Meeting& meeting = *place.first;
    text += fmt::format(" ({} {})", meeting.is_message ? "message" : "call", meeting.number);
    if (meeting.state == MeetingState::kMismatched) text += ", which does not match";
    text += missing_text(texts, meeting);
  }
  if (num_told < waiting.size()) {
    text += fmt::format("\n  and {} more ranks wait", waiting.size() - num_told);
  }
  return text;
}

}  // namespace

std::vector<Rank> ranks_with(const LedgerState& state, RankStatus status) {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < state.ranks.size(); ++i) {
    if (state.ranks[i].status == status) ranks.push_back(Rank{static_cast<int>(i)});
  }
  return ranks;
}

std::string deeds_text(const RankTexts& texts,
                       std::span<const Rank> ranks,
                       const std::function<std::string(Rank)>& deed_of) {
  const Deeds deeds = deeds_of(ranks, deed_of);
  std::string text;
  for (std::size_t i = 0; i < deeds.size() && i < kMaxTold; ++i) {
    text += fmt::format("\n  {}: {}", texts.names(deeds[i].second), deeds[i].first);
  }
  if (deeds.size() > kMaxTold) text += "\n  and others";
  return text;
}

std::string whereabouts(const RankTexts& texts) {
  const std::vector<Rank> waiting = ranks_with(texts.state, RankStatus::kWaiting);
  const std::vector<Rank> running = ranks_with(texts.state, RankStatus::kRunning);
  const std::size_t num_ranks = texts.state.ranks.size();
  std::string text;
  if (!waiting.empty()) {
    text += fmt::format("\n{} of {} ranks wait{}:{}",
                        waiting.size(),
                        num_ranks,
                        running.empty() ? " and none can be woken" : "",
                        waits_text(texts, waiting));
  }
  if (!running.empty()) {
    text += fmt::format("\n{} of {} ranks go on:", running.size(), num_ranks);
    text += deeds_text(texts, running, [&](Rank rank) { return texts.doing(rank); });
  }
  return text;
}

}  // namespace lockstep::backends
