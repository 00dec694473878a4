// The states, in the order in which they exclude each other.
#include "matrix/mutate/judgement.h"

#include "matrix/sweep/report_parts.h"
#include "matrix/sweep/signature.h"

namespace lockstep::matrix {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// An edit without effect must leave the bits alone: else the setup's text does not tell all, or a
// trial is no function of its case.
std::string alarm_of_inert(const RunRecord& clean, const RunRecord& mutant) {
  if (is_bad(mutant.verdict)) return "inert, yet " + cause_text(mutant);
  if (mutant.verdict != Verdict::kPass) return "inert, yet no check applied";
  if (mutant.digest != clean.digest) return "inert, yet with another digest than the clean run";
  return "";
}

}  // namespace

bool is_bad(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFail:
    case Verdict::kError:
    case Verdict::kTimeout:
      return true;
    case Verdict::kPass:
    case Verdict::kInvalid:
    case Verdict::kSkipped:
      return false;
  }
  return false;
}

RunRecord record_of(const CaseResult& result) {
  RunRecord record{.has_run = true, .verdict = result.verdict, .digest = result.digest};
  if (!is_bad(result.verdict)) return record;
  for (const sim::CheckResult& check : result.checks) {
    if (check.verdict == sim::CheckVerdict::kFail) record.failing.push_back(check.check);
  }
  const bool ended_early = result.verdict != Verdict::kFail;
  if (ended_early) record.failing.emplace_back(name_of(result.verdict));
  const FirstCause cause = first_cause(result);
  if (cause.check == nullptr) {
    record.check = name_of(result.verdict);
    record.reason = first_line(result.reason);
    return record;
  }
  record.check = cause.check->check;
  if (cause.place == nullptr) {
    record.reason = first_line(cause.check->reason);
    return record;
  }
  record.where = cause.place->where;
  record.ranks = cause.place->ranks;
  record.hint = cause.place->hint;
  return record;
}

Judgement judge(const MutantTraits& traits, const RunRecord& clean, const RunRecord& mutant) {
  const bool is_caught = is_bad(mutant.verdict);
  if (traits.is_unchanged) {
    const std::string alarm = alarm_of_inert(clean, mutant);
    const bool is_missed = traits.is_visible && !is_caught;
    return {.state = is_missed ? MutantState::kMissed : MutantState::kInert, .alarm = alarm};
  }
  if (is_caught) return {.state = MutantState::kCaught};
  if (traits.is_visible) return {.state = MutantState::kMissed};
  return {.state =
              mutant.digest == clean.digest ? MutantState::kUnreached : MutantState::kEquivalent};
}

std::string cause_text(const RunRecord& record) {
  std::string text = record.check;
  if (!record.where.empty()) text += " at " + record.where;
  text += ranks_text(record.ranks);
  if (!record.hint.empty()) text += ", " + record.hint;
  if (!record.reason.empty()) text += ": " + record.reason;
  return text;
}

}  // namespace lockstep::matrix
