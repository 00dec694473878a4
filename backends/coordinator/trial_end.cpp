// Why a trial that is over did not end well: who threw, was lost, stalled, or never came.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/coordinator/trial.h"
#include "backends/matching/rank_text.h"
#include "backends/matching/signature.h"

namespace lockstep::backends {
namespace {

std::string seconds_text(std::chrono::steady_clock::duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

}  // namespace

TrialOutcome Trial::finish(Time now) {
  const bool gave_up = !nobody_can_go_on() && !cut_off_;
  settle_suspects(now);
  if (gave_up) name_who_stalls(now);
  TrialOutcome outcome;
  outcome.findings = ledger_.diagnose();
  if (outcome.findings.empty()) outcome.findings = unfinished_by_returned();
  for (RankBook& book : ranks_) outcome.results.push_back(std::move(book.result));
  outcome.num_calls = ledger_.num_calls();
  outcome.num_matched = ledger_.num_matched();
  return outcome;
}

bool Trial::name_silent_ranks(Time now) {
  bool any = false;
  for (int i = 0; i < world(); ++i) {
    const RankBook& book = of(Rank{i});
    if (book.ended || now - book.heard < longest_silence(options_.limits)) continue;
    any = true;
    ledger_.rank_stalled(Rank{i}, "not heard of for " + seconds_text(now - book.heard));
  }
  return any;
}

// One that threw in the middle of a call did so because another was lost, threw or is silent; only
// where none is, the error is its own.
void Trial::settle_suspects(Time now) {
  if (!has_suspects()) return;
  const bool is_consequence = has_cause_ || name_silent_ranks(now);
  for (int i = 0; i < world(); ++i) {
    const RankBook& book = of(Rank{i});
    if (!book.suspect) continue;
    if (is_consequence) {
      ledger_.rank_cancelled(Rank{i});
    } else {
      ledger_.rank_threw(Rank{i}, *book.suspect);
    }
  }
}

// Some rank could go on and does not: first those that are silent, then those that run without a
// call, then those that hold up a call which has started.
void Trial::name_who_stalls(Time now) {
  if (name_silent_ranks(now)) return;
  bool any_runs = false;
  for (int i = 0; i < world(); ++i) {
    const RankBook& book = of(Rank{i});
    if (book.ended || book.waited) continue;
    any_runs = true;
    ledger_.rank_stalled(
        Rank{i}, fmt::format("running for {} without a call", seconds_text(now - book.last_word)));
  }
  if (any_runs) return;
  // A call that some have done is held up by those that have not; one that none has, by all of
  // them.
  const StartedPart* held_up = nullptr;
  for (int i = 0; i < world(); ++i) {
    const auto& parts = started_.undone(Rank{i});
    if (parts.empty()) continue;
    const StartedCall& call = *parts.front().call;
    const bool is_half_done = call.undone.size() < call.meeting->parties.size();
    if (held_up == nullptr || is_half_done) held_up = &parts.front();
    if (is_half_done) break;
  }
  if (held_up == nullptr) return;
  for (const Rank rank : held_up->call->undone) {
    if (started_.undone(rank).front().call != held_up->call) continue;  // has not come so far
    ledger_.rank_stalled(rank,
                         fmt::format("{} has started and it has not done its part for {}",
                                     waited_call(*held_up),
                                     seconds_text(now - of(rank).last_word)));
  }
}

std::string Trial::waited_call(const StartedPart& part) const {
  const Meeting& meeting = *part.call->meeting;
  return fmt::format(
      "{} on {}", calls_to_text(meeting.parties[part.party].calls), to_text(*meeting.group));
}

// Calls that all had come to, and that one left by returning: the others stand in them.
std::vector<Finding> Trial::unfinished_by_returned() const {
  const RankTexts texts{.mesh = options_.mesh, .state = ledger_.state()};
  std::vector<Finding> findings;
  for (int i = 0; i < world(); ++i) {
    const auto& parts = started_.undone(Rank{i});
    if (!of(Rank{i}).ended || parts.empty()) continue;
    const Meeting& meeting = *parts.front().call->meeting;
    findings.push_back(
        {.kind = FindingKind::kStalled,
         .message = fmt::format(
             "{} returned without its part of {}", texts.name(Rank{i}), waited_call(parts.front())),
         .ranks = {Rank{i}},
         .label = meeting.parties[parts.front().party].labels.front()});
  }
  return findings;
}

}  // namespace lockstep::backends
