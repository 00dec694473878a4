// Members are sorted into parties that agree; the largest is "the others", the rest at fault.
#include "backends/inprocess/mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "backends/inprocess/signature.h"

namespace lockstep::backends {
namespace {

struct Camp {
  const std::vector<CollectiveCall>* calls;
  std::vector<Rank> ranks;
};

std::vector<Camp> camps_of(const Meeting& meeting) {
  std::vector<Camp> camps;
  for (const Party& party : meeting.parties) {
    if (!party.arrived) continue;
    const auto found = std::find_if(camps.begin(), camps.end(), [&](const Camp& camp) {
      return agree(*camp.calls, party.calls);
    });
    if (found == camps.end()) {
      camps.push_back({.calls = &party.calls, .ranks = {party.rank}});
    } else {
      found->ranks.push_back(party.rank);
    }
  }
  return camps;
}

std::string_view first_label(const Camp& camp) {
  return camp.calls->empty() ? std::string_view{} : camp.calls->front().label;
}

using Channels = std::vector<const Channel*>;

// Channels of all groups of the meeting's kind, its own first.
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

// Whether a rank of the camp has submitted this label to the same group, after the meeting.
bool calls_later(const Channel& own,
                 const Meeting& meeting,
                 const Camp& camp,
                 std::string_view label) {
  for (const Member& member : own.members) {
    if (std::find(camp.ranks.begin(), camp.ranks.end(), member.rank) == camp.ranks.end()) continue;
    for (const Link& link : member.links) {
      const Meeting& other = *link.meeting;
      if (other.is_message || other.number <= meeting.number) continue;
      if (other.parties[link.party].calls.front().label == label) return true;
    }
  }
  return false;
}

// The label that the call of this number (from 1) has in other groups of the kind, else the one
// that last followed the call before it; empty where neither is known.
std::string_view usual_label(const Channels& siblings, std::uint64_t number) {
  const auto at = static_cast<std::size_t>(number - 1);
  for (std::size_t i = 1; i < siblings.size(); ++i) {
    const std::vector<std::string_view>& history = siblings[i]->history;
    const bool known = siblings[i]->ordinal == siblings[0]->ordinal && at < history.size();
    if (known && !history[at].empty()) return history[at];
  }
  const std::vector<std::string_view>& own = siblings[0]->history;
  if (at == 0 || at > own.size()) return {};
  for (std::size_t i = at - 1; i > 0; --i) {
    if (own[i - 1] == own[at - 1]) return own[i];
  }
  return {};
}

// Puts the camp that the others are held against first: the largest. Of equal ones, that whose
// label is usual there, else that which later calls what the other calls now, for then the other
// has skipped something. Gives whether there was a reason for the choice.
bool choose_reference(const Channels& siblings, const Meeting& meeting, std::vector<Camp>& camps) {
  std::size_t largest = 0;
  for (const Camp& camp : camps) largest = std::max(largest, camp.ranks.size());
  const std::string_view usual = usual_label(siblings, meeting.number);
  std::size_t best = camps.size();
  int best_score = -1;
  int num_best = 0;
  for (std::size_t i = 0; i < camps.size(); ++i) {
    if (camps[i].ranks.size() < largest) continue;
    int score = !usual.empty() && first_label(camps[i]) == usual ? 2 : 0;
    for (const Camp& other : camps) {
      if (&other == &camps[i] || first_label(other) == first_label(camps[i])) continue;
      if (calls_later(*siblings[0], meeting, camps[i], first_label(other)))
        score = std::max(score, 1);
    }
    num_best = score > best_score ? 1 : num_best + (score == best_score ? 1 : 0);
    if (score > best_score) best = i;
    best_score = std::max(best_score, score);
  }
  std::swap(camps[0], camps[best]);
  return num_best == 1;
}

std::string camp_text(const RankTexts& texts,
                      const Channels& siblings,
                      const Meeting& meeting,
                      const Camp& others,
                      const Camp& camp) {
  const bool one = camp.ranks.size() == 1;
  const std::string_view label = first_label(camp);
  const std::string_view expected = first_label(others);
  const bool same_call =
      label == expected && camp.calls->front().kind == others.calls->front().kind;
  std::string text = fmt::format("{} {} ", texts.names(camp.ranks), one ? "calls" : "call");
  if (same_call && camp.calls->size() == others.calls->size()) {
    text += fmt::format("{} with ", calls_to_text(*camp.calls));
  }
  text += fmt::format("{} on {}", difference(*others.calls, *camp.calls), to_text(*meeting.group));
  if (label == expected) return text;
  const bool later = calls_later(*siblings[0], meeting, others, label) ||
                     usual_label(siblings, meeting.number + 1) == label;
  if (later) {
    text += fmt::format(
        ": {} skipped '{}', '{}' comes after it", one ? "it has" : "they have", expected, label);
  } else {
    text += fmt::format(" (call {} of the group)", meeting.number);
  }
  return text;
}

}  // namespace

Finding mismatch(const RankTexts& texts) {
  Finding finding{.kind = FindingKind::kMismatch, .message = {}, .ranks = {}, .label = {}};
  // Threads may notice them in any order.
  std::vector<const Meeting*> meetings = texts.state.mismatched;
  std::sort(meetings.begin(), meetings.end(), [](const Meeting* a, const Meeting* b) {
    const auto key = [](const Meeting& m) {
      return std::tuple(m.number, m.group->kind, m.group->index, m.parties[0].rank, m.is_message);
    };
    return key(*a) < key(*b);
  });
  std::size_t num_told = 0;
  for (const Meeting* meeting : meetings) {
    if (num_told++ == kMaxTold) {
      finding.message += fmt::format("\nand {} more calls", meetings.size() - kMaxTold);
      break;
    }
    if (!finding.message.empty()) finding.message += "\n";
    std::vector<Camp> camps = meeting->is_message ? std::vector<Camp>{} : camps_of(*meeting);
    if (camps.size() < 2) {
      finding.message += disagreement(*meeting) + " on " + to_text(*meeting->group);
      for (const Party& party : meeting->parties) finding.ranks.push_back(party.rank);
      if (finding.label.empty()) finding.label = call_of(*meeting, 0, 0).label;
      continue;
    }
    const Channels siblings = siblings_of(texts, *meeting);
    const bool is_clear = choose_reference(siblings, *meeting, camps);
    // Nobody can say who of them is right.
    if (!is_clear) {
      finding.ranks.insert(finding.ranks.end(), camps[0].ranks.begin(), camps[0].ranks.end());
    }
    if (finding.label.empty()) finding.label = first_label(camps[0]);
    for (std::size_t i = 1; i < camps.size(); ++i) {
      if (i > 1) finding.message += "\n";
      finding.message += camp_text(texts, siblings, *meeting, camps[0], camps[i]);
      finding.ranks.insert(finding.ranks.end(), camps[i].ranks.begin(), camps[i].ranks.end());
    }
  }
  std::sort(finding.ranks.begin(), finding.ranks.end());
  const auto end = std::unique(finding.ranks.begin(), finding.ranks.end());
  finding.ranks.erase(end, finding.ranks.end());
  return finding;
}

}  // namespace lockstep::backends
