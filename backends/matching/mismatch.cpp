// Members are sorted into parties that agree; the largest is "the others", the rest at fault.
#include "backends/matching/mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "backends/matching/signature.h"
#include "backends/matching/usual_call.h"
#include "backends/matching/wrong_group.h"

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

// Whether the call before the meeting has that label.
bool repeats(const Channel& own, const Meeting& meeting, std::string_view label) {
  const std::size_t num_before = meeting.number - 1;
  return num_before > 0 && num_before <= own.history.size() &&
         own.history[num_before - 1].label == label;
}

// How much another group, or an earlier round of this one, speaks for the camp: 2 where the call is
// the usual one, 1 where its label is.
int support(const std::optional<PastCall>& usual, const Camp& camp) {
  if (!usual || camp.calls->empty() || usual->label != first_label(camp)) return 0;
  return past_call(camp.calls->front()) == *usual ? 2 : 1;
}

// Puts the camp that the others are held against first: that without ranks on a wrong group, with
// the calls that other groups of the kind make there; then the largest; then that which calls what
// is usual in its group, or which later calls what another camp calls now, for then the other has
// skipped something. Gives whether there was a reason for the choice.
bool choose_reference(const Channels& siblings,
                      const Meeting& meeting,
                      const std::vector<WrongGroup>& wrong,
                      std::vector<Camp>& camps) {
  const std::optional<PastCall> elsewhere = usual_elsewhere(siblings, meeting.number);
  const std::optional<PastCall> before = usual_before(siblings, meeting.number);
  const auto merit = [&](const Camp& camp) {
    const bool right_group = std::none_of(wrong.begin(), wrong.end(), [&](const WrongGroup& w) {
      return w.link->meeting == &meeting &&
             std::find(camp.ranks.begin(), camp.ranks.end(), w.rank) != camp.ranks.end();
    });
    const bool ahead = std::any_of(camps.begin(), camps.end(), [&](const Camp& other) {
      return first_label(other) != first_label(camp) &&
             calls_later(*siblings[0], meeting, camp, first_label(other));
    });
    return std::tuple(
        right_group, support(elsewhere, camp), camp.ranks.size(), support(before, camp), ahead);
  };
  std::size_t best = 0;
  int num_best = 1;
  for (std::size_t i = 1; i < camps.size(); ++i) {
    if (merit(camps[i]) == merit(camps[best])) ++num_best;
    if (merit(camps[i]) <= merit(camps[best])) continue;
    best = i;
    num_best = 1;
  }
  std::swap(camps[0], camps[best]);
  return num_best == 1;
}

std::string camp_text(const RankTexts& texts,
                      const Channels& siblings,
                      const Meeting& meeting,
                      const Camp& reference,
                      const Camp& camp) {
  const bool one = camp.ranks.size() == 1;
  const std::string_view label = first_label(camp);
  const std::string_view expected = first_label(reference);
  const bool same_call =
      label == expected && camp.calls->front().kind == reference.calls->front().kind;
  Others others{.calls = *reference.calls};
  if (reference.ranks.size() == 1) {
    others.name = texts.name(reference.ranks.front());
    others.is_one = true;
  }
  std::string text = fmt::format("{} {} ", texts.names(camp.ranks), one ? "calls" : "call");
  if (same_call && camp.calls->size() == reference.calls->size()) {
    text += fmt::format("{} with ", calls_to_text(*camp.calls));
  }
  text += fmt::format("{} on {}", difference(others, *camp.calls), to_text(*meeting.group));
  if (label == expected) return text;
  const std::optional<PastCall> next = usual_elsewhere(siblings, meeting.number + 1);
  if (calls_later(*siblings[0], meeting, reference, label) || (next && next->label == label) ||
      has_followed(siblings, expected, label)) {
    text += fmt::format(": {} skipped '{}'", one ? "it has" : "they have", expected);
  } else if (repeats(*siblings[0], meeting, label)) {
    text += fmt::format(
        ": {} call {} of the group", one ? "it repeats" : "they repeat", meeting.number - 1);
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
  const std::vector<WrongGroup> wrong = wrong_groups(texts);
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
    const bool is_clear = choose_reference(siblings, *meeting, wrong, camps);
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
  for (const WrongGroup& its : wrong) finding.message += "\n" + to_text(texts, its);
  for (const WrongGroup& its : wrong) finding.ranks.push_back(its.rank);
  std::sort(finding.ranks.begin(), finding.ranks.end());
  const auto end = std::unique(finding.ranks.begin(), finding.ranks.end());
  finding.ranks.erase(end, finding.ranks.end());
  return finding;
}

}  // namespace lockstep::backends
