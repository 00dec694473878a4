// The report: errors, then mismatch or deadlock with everyone's whereabouts, else what is pending.
#include "backends/matching/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "backends/matching/mismatch.h"
#include "backends/matching/rank_text.h"
#include "backends/matching/whereabouts.h"
#include "backends/matching/wrong_group.h"

namespace lockstep::backends {
namespace {

// An exception that left a wait is what others' ends do to a backend's calls, not the rank's own.
enum class ThrownIn { kProgram, kWait };

void add_errors(const RankTexts& texts, ThrownIn where, std::vector<Finding>& findings) {
  std::vector<Rank> thrown = ranks_with(texts.state, RankStatus::kThrew);
  const auto others = std::remove_if(thrown.begin(), thrown.end(), [&](Rank rank) {
    return (texts.state_of(rank).waits != nullptr) != (where == ThrownIn::kWait);
  });
  thrown.erase(others, thrown.end());
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

// How ranks are told that ended without their own doing.
struct Gone {
  RankStatus status;
  FindingKind kind;
  const char* one;
  const char* many;
  const char* before_last_call;  // of one
};

constexpr Gone kLost{.status = RankStatus::kLost,
                     .kind = FindingKind::kLost,
                     .one = "was lost",
                     .many = "were lost",
                     .before_last_call = "\n"};
constexpr Gone kStalled{.status = RankStatus::kStalled,
                        .kind = FindingKind::kStalled,
                        .one = "has stalled",
                        .many = "have stalled",
                        .before_last_call = "; "};

// One for all ranks that show it in the same way.
void add_gone(const RankTexts& texts, const Gone& gone, std::vector<Finding>& findings) {
  std::map<std::string_view, std::vector<Rank>> by_sign;
  for (const Rank rank : ranks_with(texts.state, gone.status)) {
    by_sign[texts.state_of(rank).error].push_back(rank);
  }
  for (const auto& [how, ranks] : by_sign) {
    const bool is_one = ranks.size() == 1;
    std::string message =
        fmt::format("{} {}: {}", texts.names(ranks), is_one ? gone.one : gone.many, how);
    if (is_one) {
      message += gone.before_last_call + texts.last_call(ranks.front());
    } else {
      message += deeds_text(texts, ranks, [&](Rank rank) { return texts.last_call(rank); });
    }
    findings.push_back({.kind = gone.kind,
                        .message = std::move(message),
                        .ranks = ranks,
                        .label = texts.last_label(ranks.front())});
  }
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
    const auto ended = std::find_if(missing.begin(), missing.end(), [&](Rank rank) {
      return is_gone(texts.state_of(rank).status);
    });
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
  if (!chain.is_cycle && is_gone(texts.state_of(chain.ranks.back()).status)) {
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
  finding.message = headline + whereabouts(texts);
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

std::vector<Finding> diagnose(const Mesh& mesh, const LedgerState& state) {
  const RankTexts texts{.mesh = mesh, .state = state};
  const std::vector<Rank> waiting = ranks_with(state, RankStatus::kWaiting);
  const bool any_running = !ranks_with(state, RankStatus::kRunning).empty();
  std::vector<Finding> findings;
  add_errors(texts, ThrownIn::kProgram, findings);
  const std::size_t num_errors = findings.size();
  if (!state.mismatched.empty()) {
    findings.push_back(mismatch(texts));
    findings.back().message += whereabouts(texts);
  }
  add_gone(texts, kLost, findings);
  add_gone(texts, kStalled, findings);
  const bool is_explained = findings.size() > num_errors;
  if (is_explained && state.mismatched.empty()) findings.back().message += whereabouts(texts);
  add_errors(texts, ThrownIn::kWait, findings);
  if (is_explained) return findings;
  if (any_running) {
    if (!findings.empty()) findings.back().message += whereabouts(texts);
  } else if (!waiting.empty()) {
    findings.push_back(deadlock(texts, waiting));
  } else if (findings.empty()) {
    add_pending(texts, findings);
  }
  return findings;
}

}  // namespace lockstep::backends
