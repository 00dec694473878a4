// Members are sorted into parties that agree; the largest is "the others", the rest at fault.
#include "backends/inprocess/mismatch.h"

#include <fmt/format.h>

#include <algorithm>

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

// Whether a rank of the camp has submitted this label to the same group, after the meeting.
bool calls_later(const RankTexts& texts,
                 const Meeting& meeting,
                 const Camp& camp,
                 std::string_view label) {
  for (const auto& [key, channels] : texts.state.channels) {
    for (const auto& channel : channels) {
      if (&channel->group != meeting.group) continue;
      for (const Member& member : channel->members) {
        if (std::find(camp.ranks.begin(), camp.ranks.end(), member.rank) == camp.ranks.end()) {
          continue;
        }
        for (const Link& link : member.links) {
          const Meeting& other = *link.meeting;
          if (other.is_message || other.number <= meeting.number) continue;
          if (other.parties[link.party].calls.front().label == label) return true;
        }
      }
    }
  }
  return false;
}

std::string_view first_label(const Camp& camp) {
  return camp.calls->empty() ? std::string_view{} : camp.calls->front().label;
}

// Puts the camp that the others are held against first: the largest; of equal ones, that which
// later calls what the other calls now, for then the other has skipped something.
void choose_reference(const RankTexts& texts, const Meeting& meeting, std::vector<Camp>& camps) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < camps.size(); ++i) {
    const bool larger = camps[i].ranks.size() > camps[best].ranks.size();
    const bool equal = camps[i].ranks.size() == camps[best].ranks.size();
    if (larger || (equal && calls_later(texts, meeting, camps[i], first_label(camps[best])))) {
      best = i;
    }
  }
  std::swap(camps[0], camps[best]);
}

std::string camp_text(const RankTexts& texts,
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
  if (label != expected && calls_later(texts, meeting, others, label)) {
    text += fmt::format(": {} skipped '{}', the others call '{}' later",
                        one ? "it has" : "they have",
                        expected,
                        label);
  } else if (label != expected && !calls_later(texts, meeting, camp, expected)) {
    text += fmt::format(" (call {} of the group; {} not called '{}' there)",
                        meeting.number,
                        one ? "it has" : "they have",
                        expected);
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
    choose_reference(texts, *meeting, camps);
    if (finding.label.empty()) finding.label = first_label(camps[0]);
    for (std::size_t i = 1; i < camps.size(); ++i) {
      if (i > 1) finding.message += "\n";
      finding.message += camp_text(texts, *meeting, camps[0], camps[i]);
      finding.ranks.insert(finding.ranks.end(), camps[i].ranks.begin(), camps[i].ranks.end());
    }
  }
  std::sort(finding.ranks.begin(), finding.ranks.end());
  const auto end = std::unique(finding.ranks.begin(), finding.ranks.end());
  finding.ranks.erase(end, finding.ranks.end());
  return finding;
}

}  // namespace lockstep::backends
