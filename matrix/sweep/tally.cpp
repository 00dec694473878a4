// Adds results up; ties are broken by the position of a case, never by the time it ended.
#include "matrix/sweep/tally.h"

#include <algorithm>
#include <cmath>

namespace lockstep::matrix {
namespace {

// NaN is worse than anything; then how often the bound is exceeded counts, where there is one.
double badness(const sim::Place& place) {
  if (!std::isfinite(place.error)) return HUGE_VAL;
  return place.error;
}

bool is_worse(const sim::Place& a, std::size_t index_a, const CheckTally& tally) {
  const double badness_a = badness(a);
  const double badness_b = badness(tally.worst);
  return badness_a > badness_b || (badness_a == badness_b && index_a < tally.worst_case.index);
}

void insert_first(std::vector<CaseReference>& first, const CaseReference& reference) {
  const auto place = std::upper_bound(
      first.begin(), first.end(), reference, [](const CaseReference& a, const CaseReference& b) {
        return a.index < b.index;
      });
  first.insert(place, reference);
  if (first.size() > kMaxNamesShown) first.pop_back();
}

const sim::CheckResult* first_failure(const CaseResult& result) {
  const sim::CheckResult* first = nullptr;
  for (const sim::CheckResult& check : result.checks) {
    if (check.verdict != sim::CheckVerdict::kFail) continue;
    if (check.check == "collectives") return &check;
    if (first == nullptr) first = &check;
  }
  return first;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Signature signature_of(const CaseResult& result) {
  Signature signature;
  signature.verdict = result.verdict;
  const sim::CheckResult* check = first_failure(result);
  if (result.verdict != Verdict::kFail || check == nullptr) {
    signature.reason = first_line(result.reason);
    return signature;
  }
  signature.check = check->check;
  signature.where = check->worst.where;
  signature.hint = check->worst.hint;
  signature.reason = first_line(check->reason);
  return signature;
}

void Tally::add(std::size_t index, const CaseResult& result) {
  const CaseReference reference{.index = index, .name = result.name};
  ++counts_.count(result.verdict);
  for (const sim::CheckResult& check : result.checks) add_check(reference, check);
  switch (result.verdict) {
    case Verdict::kFail:
    case Verdict::kError:
    case Verdict::kTimeout:
      add_failing(reference, result);
      break;
    case Verdict::kInvalid:
      ++invalid_reasons_[result.reason];
      break;
    case Verdict::kPass:
    case Verdict::kSkipped:
      break;
  }
}

void Tally::add_check(const CaseReference& reference, const sim::CheckResult& check) {
  auto tally = std::find_if(checks_.begin(), checks_.end(), [&](const CheckTally& known) {
    return known.check == check.check;
  });
  if (tally == checks_.end()) {
    tally = checks_.insert(checks_.end(), CheckTally());
    tally->check = check.check;
  }
  switch (check.verdict) {
    case sim::CheckVerdict::kPass:
      ++tally->num_passed;
      break;
    case sim::CheckVerdict::kFail:
      ++tally->num_failed;
      break;
    case sim::CheckVerdict::kNotApplicable:
      ++tally->num_not_applicable;
      return;
  }
  if (check.compared == 0) return;
  if (tally->num_compared == 0 || is_worse(check.worst, reference.index, *tally)) {
    tally->worst = check.worst;
    tally->worst_case = reference;
  }
  tally->num_compared += check.compared;
}

void Tally::add_failing(const CaseReference& reference, const CaseResult& result) {
  SignatureTally& tally = signatures_[signature_of(result)];
  ++tally.num_cases;
  insert_first(tally.first_cases, reference);
  if (tally.first_cases.front().index == reference.index) {
    tally.signature = signature_of(result);
    const sim::CheckResult* check = first_failure(result);
    tally.place = check != nullptr ? check->worst : sim::Place{};
  }
  const auto place = std::upper_bound(
      failing_.begin(), failing_.end(), reference.index, [](std::size_t index, const auto& known) {
        return index < known.reference.index;
      });
  if (failing_.size() == kMaxCasesShown && place == failing_.end()) return;
  failing_.insert(place, FailingCase{.reference = reference, .result = result});
  if (failing_.size() > kMaxCasesShown) failing_.pop_back();
}

std::vector<SignatureTally> Tally::signatures() const {
  std::vector<SignatureTally> sorted;
  for (const auto& [signature, tally] : signatures_) sorted.push_back(tally);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    if (a.num_cases != b.num_cases) return a.num_cases > b.num_cases;
    return a.first_cases.front().index < b.first_cases.front().index;
  });
  return sorted;
}

std::vector<std::pair<std::string, std::int64_t>> Tally::invalid_reasons() const {
  std::vector<std::pair<std::string, std::int64_t>> sorted(invalid_reasons_.begin(),
                                                           invalid_reasons_.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second > b.second;
  });
  return sorted;
}

}  // namespace lockstep::matrix
