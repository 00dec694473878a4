// Picks the first cause of a failing case among its checks' places.
#include "matrix/sweep/signature.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace lockstep::matrix {
namespace {

constexpr std::string_view kStep = "(step ";

// Places of the first step bear no step.
std::int64_t step_of(const std::string& where) {
  const std::size_t begin = where.rfind(kStep);
  if (begin == std::string::npos) return 0;
  std::int64_t step = 0;
  std::from_chars(where.data() + begin + kStep.size(), where.data() + where.size(), step);
  return step;
}

// A check lists its places in the order in which they are told.
const sim::Place* first_place(const sim::CheckResult& check) {
  const sim::Place* first = nullptr;
  for (const sim::Place& place : check.failures) {
    if (first == nullptr || step_of(place.where) < step_of(first->where)) first = &place;
  }
  return first;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

FirstCause first_cause(const CaseResult& result) {
  FirstCause first;
  std::int64_t first_step = 0;
  for (const sim::CheckResult& check : result.checks) {
    if (check.verdict != sim::CheckVerdict::kFail) continue;
    const FirstCause cause{.check = &check, .place = first_place(check)};
    if (check.check == "collectives") return cause;
    const std::int64_t step = cause.place == nullptr ? 0 : step_of(cause.place->where);
    if (first.check != nullptr && step >= first_step) continue;
    first = cause;
    first_step = step;
  }
  return first;
}

Signature signature_of(const CaseResult& result) {
  Signature signature{.verdict = result.verdict};
  const FirstCause cause = first_cause(result);
  if (result.verdict != Verdict::kFail || cause.check == nullptr) {
    signature.reason = first_line(result.reason);
    return signature;
  }
  signature.check = cause.check->check;
  if (cause.place == nullptr) {
    signature.reason = first_line(cause.check->reason);
  } else {
    signature.where = cause.place->where;
    signature.hint = cause.place->hint;
  }
  return signature;
}

HintParts hint_parts(std::string_view hint) {
  constexpr std::string_view kOr = " or ";
  HintParts parts;
  std::size_t begin = hint.find(" = ");
  parts.ratio = hint.substr(0, begin);
  if (begin == std::string_view::npos) return parts;
  begin += 3;
  while (begin <= hint.size()) {
    const std::size_t end = std::min(hint.find(kOr, begin), hint.size());
    parts.causes.emplace_back(hint.substr(begin, end - begin));
    begin = end + kOr.size();
  }
  return parts;
}

}  // namespace lockstep::matrix
