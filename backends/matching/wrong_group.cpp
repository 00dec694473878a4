// A label that waits on two groups: the side with fewer callers is wrong.
#include "backends/matching/wrong_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/matching/signature.h"
#include "backends/matching/usual_call.h"

namespace lockstep::backends {
namespace {

std::vector<Rank> callers(const Meeting& meeting, std::string_view label) {
  std::vector<Rank> ranks;
  for (const Party& party : meeting.parties) {
    if (party.arrived && party.calls.front().label == label) ranks.push_back(party.rank);
  }
  return ranks;
}

std::string_view label_of(const Link& link) {
  return link.meeting->parties[link.party].calls.front().label;
}

// Of equally many callers those are right whose kind of group is known to make this call.
bool is_wrong(const RankTexts& texts, const Link& link, const Meeting& expected) {
  const std::string_view label = label_of(link);
  const std::size_t num_here = callers(*link.meeting, label).size();
  const std::size_t num_there = callers(expected, label).size();
  if (num_here != num_there) return num_here < num_there;
  return has_called(siblings_of(texts, expected), label) &&
         !has_called(siblings_of(texts, *link.meeting), label);
}

}  // namespace

std::vector<WrongGroup> wrong_groups(const RankTexts& texts) {
  std::vector<WrongGroup> wrong;
  for (const auto& [key, channels] : texts.state.channels) {
    for (const auto& channel : channels) {
      for (const Meeting* expected : channel->rounds) {
        for (const Party& party : expected->parties) {
          if (wrong.size() == kMaxTold) return wrong;
          if (party.arrived) continue;
          const Link* link = blocking_link(texts.state_of(party.rank));
          if (link == nullptr || link->meeting->group == expected->group) continue;
          if (callers(*expected, label_of(*link)).empty()) continue;
          if (!is_wrong(texts, *link, *expected)) continue;
          wrong.push_back({.rank = party.rank, .link = link, .expected = expected});
        }
      }
    }
  }
  return wrong;
}

std::string to_text(const RankTexts& texts, const WrongGroup& wrong) {
  const std::vector<Rank> others = callers(*wrong.expected, label_of(*wrong.link));
  return fmt::format("{} calls {}, the wrong group: {} {} it on {}",
                     texts.name(wrong.rank),
                     texts.waited_call(*wrong.link),
                     texts.names(others),
                     others.size() == 1 ? "calls" : "call",
                     to_text(*wrong.expected->group));
}

}  // namespace lockstep::backends
