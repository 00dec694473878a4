// The rules of agreement, and what they come to.
#include "matrix/confirm/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "matrix/confirm/agreement.h"
#include "matrix/sweep/signature.h"
#include "simulator/checks/tally.h"

namespace lockstep::matrix {
namespace {

// The other backend's result by the sweep's checks alone, and what was added to them.
struct Parts {
  CaseResult own;
  std::optional<sim::CheckResult> agreement;
};

bool fails(const sim::CheckResult& check) { return check.verdict == sim::CheckVerdict::kFail; }

std::vector<std::string> failing_checks(const CaseResult& result) {
  std::vector<std::string> names;
  for (const sim::CheckResult& check : result.checks) {
    if (fails(check)) names.push_back(check.check);
  }
  return names;
}

Parts parts_of(const CaseResult& confirmed) {
  Parts parts{.own = confirmed, .agreement = std::nullopt};
  std::vector<sim::CheckResult>& checks = parts.own.checks;
  const auto agreement = std::find_if(
      checks.begin(), checks.end(), [](const auto& check) { return check.check == kAgreement; });
  if (agreement == checks.end()) return parts;
  parts.agreement = *agreement;
  checks.erase(agreement);
  if (confirmed.verdict == Verdict::kFail && failing_checks(parts.own).empty()) {
    parts.own.verdict = Verdict::kPass;
  }
  return parts;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// "fail by grads at decoder...": what a result says of itself, short.
std::string words_of(const CaseResult& result) {
  std::string words(name_of(result.verdict));
  if (result.verdict == Verdict::kFail) {
    const FirstCause cause = first_cause(result);
    if (cause.check != nullptr) words += " by " + cause.check->check;
    if (cause.place != nullptr) words += " at " + cause.place->where;
  }
  const std::string reason = first_line(result.reason);
  return reason.empty() ? words : words + ": " + reason;
}

std::string why_disagreeing(const CaseResult& swept, const Parts& confirmed) {
  const CaseResult& own = confirmed.own;
  if (own.simulated_digest.empty()) {
    return fmt::format("did not run over {}: {}", own.comm, words_of(own));
  }
  if (own.simulated_digest != swept.digest) {
    return fmt::format(
        "the sweep's digest is {}, this build gives {}", swept.digest, own.simulated_digest);
  }
  if (own.verdict != swept.verdict) {
    return fmt::format("{} in the sweep, {} over {}", words_of(swept), words_of(own), own.comm);
  }
  if (!confirmed.agreement || !fails(*confirmed.agreement)) return "";
  if (!confirmed.agreement->reason.empty()) return confirmed.agreement->reason;
  return fmt::format("differs by more than {:g}", confirmed.agreement->worst.bound);
}

std::string note_of(const CaseResult& swept, const Parts& confirmed) {
  if (swept.verdict == Verdict::kFail) {
    const std::string there = words_of(swept);
    const std::string here = words_of(confirmed.own);
    if (there != here) return fmt::format("{} in the sweep, {} here", there, here);
    if (failing_checks(swept) != failing_checks(confirmed.own)) return "other checks fail besides";
  }
  return confirmed.agreement ? confirmed.agreement->reason : "";
}

}  // namespace

JoinedCase join(const CaseResult& swept, const CaseResult& confirmed) {
  const Parts parts = parts_of(confirmed);
  JoinedCase joined{.name = swept.name,
                    .simulated = swept.verdict,
                    .confirmed = parts.own.verdict,
                    .reason = why_disagreeing(swept, parts)};
  if (parts.agreement && parts.agreement->compared > 0) joined.difference = parts.agreement->worst;
  joined.agrees = joined.reason.empty();
  if (joined.agrees) joined.note = note_of(swept, parts);
  return joined;
}

std::size_t Confirmation::num_agreeing() const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [](const JoinedCase& joined) { return joined.agrees; }));
}

const JoinedCase* Confirmation::largest(bool is_judged) const {
  const JoinedCase* found = nullptr;
  for (const JoinedCase& joined : cases) {
    if (!joined.difference || std::isfinite(joined.difference->bound) != is_judged) continue;
    if (found == nullptr || sim::is_worse(joined.difference->error, found->difference->error)) {
      found = &joined;
    }
  }
  return found;
}

int exit_code_of(const Confirmation& confirmation) {
  if (confirmation.interrupted) return 130;
  if (confirmation.num_agreeing() < confirmation.cases.size()) return 1;
  return confirmation.cases.empty() ? 4 : 0;
}

}  // namespace lockstep::matrix
