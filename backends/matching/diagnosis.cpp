// The report: errors, then mismatch or deadlock with everyone's whereabouts, else what is pending.
#include "backends/matching/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "backends/matching/mismatch.h"
#include "backends/matching/rank_text.h"
#include "backends/matching/signature.h"
#include "backends/matching/wrong_group.h"

namespace lockstep::backends {
namespace {

std::vector<Rank> ranks_with(const RendezvousState& state, RankStatus status) {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < state.ranks.size(); ++i) {
    if (state.ranks[i].status == status) ranks.push_back(Rank{static_cast<int>(i)});
  }
  return ranks;
}

bool has_ended(const RankState& rank) {
  return rank.status == RankStatus::kReturned || rank.status == RankStatus::kThrew;
}

void add_errors(const RankTexts& texts, std::vector<Finding>& findings) {
  const std::vector<Rank> thrown = ranks_with(texts.state, RankStatus::kThrew);
  for (std::size_t i = 0; i < thrown.size() && i < kMaxTold; ++i) {
    std::string message = texts.name(thrown[i]) + " threw: ";
    for (const char c : texts.state_of(thrown[i]).error) {
      message += c;
      if (c == '\n') message += "  ";
    }
    if (i + 1 == kMaxTold && thrown.size() > kMaxTold) {
      message += fmt::format("\nand {} more ranks threw", thrown.size() - kMaxTold);
    }
    findings.push_back({.kind = FindingKind::kRankError,
                        .message = std::move(message),
                        .ranks = {thrown[i]},
                        .label = {}});
  }
}

// Those that a meeting misses, ranks that do the same on one line.
std::string missing_text(const RankTexts& texts, const Meeting& meeting) {
  std::vector<std::pair<std::string, std::vector<Rank>>> deeds;
  for (const Rank rank : missing_ranks(texts.state, meeting)) {
    std::string doing = texts.doing(rank);
    if (meeting.state == MeetingState::kAbandoned && has_ended(texts.state_of(rank))) {
      doing += ", its part of the call not waited for or never made";
    }
    const auto found = std::find_if(
        deeds.begin(), deeds.end(), [&](const auto& deed) { return deed.first == doing; });
    if (found != deeds.end()) {
      found->second.push_back(rank);
    } else {
      deeds.emplace_back(std::move(doing), std::vector<Rank>{rank});
    }
  }
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
std::string whereabouts(const RankTexts& texts, const std::vector<Rank>& waiting) {
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

// From a waiting rank to one it misses, and on, until a rank that has ended or one seen before.
struct Chain {
  std::vector<Rank> ranks;
  bool is_cycle = false;  // the last waits for the first; else the last has ended
};

Chain wait_chain(const RankTexts& texts, Rank start) {
  Chain chain;
  std::vector<int> seen_at(texts.state.ranks.size(), -1);
  Rank at = start;
  while (true) {
    int& seen = seen_at[static_cast<std::size_t>(at.value)];
    if (seen >= 0) {
      chain.ranks.erase(chain.ranks.begin(), chain.ranks.begin() + seen);
      chain.is_cycle = true;
      return chain;
    }
    seen = static_cast<int>(chain.ranks.size());
    chain.ranks.push_back(at);
    const Link* link = blocking_link(texts.state_of(at));
    if (link == nullptr) return chain;
    const std::vector<Rank> missing = missing_ranks(texts.state, *link->meeting);
    if (missing.empty()) return chain;
    // One that has ended is the cause, whoever else is missing.
    const auto ended = std::find_if(
        missing.begin(), missing.end(), [&](Rank rank) { return has_ended(texts.state_of(rank)); });
    at = ended != missing.end() ? *ended : missing.front();
  }
}

std::string chain_text(const RankTexts& texts, const Chain& chain) {
  std::string text;
  for (std::size_t i = 0; i < chain.ranks.size() && i < kMaxTold; ++i) {
    const Rank rank = chain.ranks[i];
    const bool is_last = i + 1 == chain.ranks.size();
    if (i > 0) text += ", ";
    if (is_last && !chain.is_cycle) {
      text += fmt::format("{} {}", texts.name(rank), texts.doing(rank));
      break;
    }
    const Rank next = chain.ranks[is_last ? 0 : i + 1];
    const Link* link = blocking_link(texts.state_of(rank));
    text += fmt::format("{} waits for {} in {}",
                        texts.name(rank),
                        texts.name(next),
                        link == nullptr ? "nothing" : texts.waited_call(*link));
  }
  if (chain.ranks.size() > kMaxTold) {
    text += fmt::format(" ... through {} ranks", chain.ranks.size());
  }
  return text;
}

Finding deadlock(const RankTexts& texts, const std::vector<Rank>& waiting) {
  const Chain chain = wait_chain(texts, waiting.front());
  const Link* link = blocking_link(texts.state_of(waiting.front()));
  Finding finding{.kind = FindingKind::kDeadlock, .message = {}, .ranks = waiting, .label = {}};
  if (link != nullptr) {
    finding.label = std::string(link->meeting->parties[link->party].calls.front().label);
  }
  if (!chain.is_cycle && has_ended(texts.state_of(chain.ranks.back()))) {
    finding.ranks = {chain.ranks.back()};
  }
  std::string headline = fmt::format(
      "{}: {}", chain.is_cycle ? "deadlock, a cycle" : "deadlock", chain_text(texts, chain));
  const std::vector<WrongGroup> wrong = wrong_groups(texts);
  if (!wrong.empty()) {
    headline = "deadlock: " + to_text(texts, wrong.front());
    for (std::size_t i = 1; i < wrong.size(); ++i) headline += "\n" + to_text(texts, wrong[i]);
    finding.ranks.clear();
    for (const WrongGroup& its : wrong) finding.ranks.push_back(its.rank);
    finding.label = wrong.front()
                        .expected->parties[static_cast<std::size_t>(wrong.front().expected->first)]
                        .calls.front()
                        .label;
  }
  finding.message = fmt::format("{}\n{} of {} ranks wait and none can be woken:{}",
                                headline,
                                waiting.size(),
                                texts.state.ranks.size(),
                                whereabouts(texts, waiting));
  return finding;
}

// Calls that were submitted and have no more wait to come, told once for each label.
void add_pending(const RankTexts& texts, std::vector<Finding>& findings) {
  struct Pending {
    const Link* link;
    std::vector<Rank> ranks;
  };
  std::map<std::pair<bool, std::string_view>, Pending> by_label;
  for (const auto& [key, channels] : texts.state.channels) {
    for (const auto& channel : channels) {
      for (const Member& member : channel->members) {
        for (const Link& link : member.links) {
          const Meeting& meeting = *link.meeting;
          const bool all_called = meeting.num_arrived == static_cast<int>(meeting.parties.size());
          const std::string_view label = meeting.parties[link.party].calls.front().label;
          Pending& pending = by_label[{all_called, label}];
          if (pending.ranks.empty()) pending.link = &link;
          pending.ranks.push_back(member.rank);
        }
      }
    }
  }
  for (auto& [key, pending] : by_label) {
    std::sort(pending.ranks.begin(), pending.ranks.end());
    const auto end = std::unique(pending.ranks.begin(), pending.ranks.end());
    pending.ranks.erase(end, pending.ranks.end());
    std::string message = fmt::format("{} was submitted and never waited for by {}",
                                      texts.waited_call(*pending.link),
                                      texts.names(pending.ranks));
    if (!key.first) {
      message += fmt::format("\nnor has it completed: it was not called by {}",
                             texts.names(missing_ranks(texts.state, *pending.link->meeting)));
    }
    if (findings.size() + 1 == kMaxTold && by_label.size() > kMaxTold) {
      message += fmt::format("\nand {} more calls are pending", by_label.size() - kMaxTold);
    }
    findings.push_back({.kind = FindingKind::kPending,
                        .message = std::move(message),
                        .ranks = pending.ranks,
                        .label = std::string(key.second)});
    if (findings.size() == kMaxTold) return;
  }
}

}  // namespace

std::vector<Finding> diagnose(const Mesh& mesh, const RendezvousState& state) {
  const RankTexts texts{.mesh = mesh, .state = state};
  const std::vector<Rank> waiting = ranks_with(state, RankStatus::kWaiting);
  std::vector<Finding> findings;
  add_errors(texts, findings);
  if (!state.mismatched.empty()) {
    findings.push_back(mismatch(texts));
    if (!waiting.empty()) {
      findings.back().message += fmt::format("\n{} of {} ranks wait and none can be woken:{}",
                                             waiting.size(),
                                             state.ranks.size(),
                                             whereabouts(texts, waiting));
    }
  } else if (!waiting.empty()) {
    findings.push_back(deadlock(texts, waiting));
  } else if (findings.empty()) {
    add_pending(texts, findings);
  }
  return findings;
}

}  // namespace lockstep::backends
