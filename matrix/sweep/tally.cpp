// Adds results up; ties are broken by the position of a case, never by the time it ended.
#include "matrix/sweep/tally.h"

#include <algorithm>
#include <cmath>

namespace lockstep::matrix {
namespace {

// What breaks its bound is worse than what keeps it, and NaN worse than any number.
std::pair<bool, double> badness(const sim::Place& place) {
  const bool is_kept = place.error <= place.bound;
  return {!is_kept, std::isfinite(place.error) ? place.error : HUGE_VAL};
}

bool is_worse(const sim::Place& a, std::size_t index_a, const CheckTally& tally) {
  const std::pair<bool, double> badness_a = badness(a);
  const std::pair<bool, double> badness_b = badness(tally.worst);
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

void merge(ConditionTally& into, const ConditionTally& from) {
  const bool is_first =
      into.num_cases == 0 || from.first_cases.front().index < into.first_cases.front().index;
  if (is_first) into.place = from.place;
  into.num_cases += from.num_cases;
  into.num_places_max = std::max(into.num_places_max, from.num_places_max);
  for (const CaseReference& reference : from.first_cases) insert_first(into.first_cases, reference);
}

// The cause that most cases of the bucket name, the shortest among equals. Empty where fewer than
// half name one: sizes that happen to fit a ratio explain nothing then.
std::string commonest_cause(const std::vector<ConditionTally>& bucket) {
  std::map<std::string, std::int64_t> num_cases;
  std::int64_t total = 0;
  for (const ConditionTally& tally : bucket) {
    total += tally.num_cases;
    for (const std::string& cause : hint_parts(tally.signature.hint).causes) {
      num_cases[cause] += tally.num_cases;
    }
  }
  std::string commonest;
  std::int64_t most = 0;
  for (const auto& [cause, count] : num_cases) {
    if (count > most || (count == most && cause.size() < commonest.size())) {
      commonest = cause;
      most = count;
    }
  }
  return 2 * most >= total ? commonest : "";
}

bool names_cause(const ConditionTally& tally, const std::string& cause) {
  const std::vector<std::string> causes = hint_parts(tally.signature.hint).causes;
  return std::find(causes.begin(), causes.end(), cause) != causes.end();
}

// All of the bucket that name the cause, as one; they leave the bucket. An empty cause takes all.
ConditionTally take_condition(std::vector<ConditionTally>& bucket, const std::string& cause) {
  constexpr std::size_t kMaxRatios = 4;
  ConditionTally condition;
  condition.signature = bucket.front().signature;
  condition.signature.hint.clear();
  std::vector<std::string> ratios;
  std::vector<ConditionTally> rest;
  for (const ConditionTally& tally : bucket) {
    if (!cause.empty() && !names_cause(tally, cause)) {
      rest.push_back(tally);
      continue;
    }
    merge(condition, tally);
    const std::string ratio = hint_parts(tally.signature.hint).ratio;
    if (std::find(ratios.begin(), ratios.end(), ratio) == ratios.end()) ratios.push_back(ratio);
  }
  bucket = std::move(rest);
  if (cause.empty()) {
    // Ratios that nothing explains tell something only where they agree.
    if (ratios.size() == 1) condition.signature.hint = ratios.front();
    return condition;
  }
  for (std::size_t i = 0; i < std::min(ratios.size(), kMaxRatios); ++i) {
    condition.signature.hint += (i == 0 ? "" : ", ") + ratios[i];
  }
  if (ratios.size() > kMaxRatios) condition.signature.hint += ", ...";
  condition.signature.hint += " = " + cause;
  return condition;
}

}  // namespace

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
    case Verdict::kSkipped:
      ++reasons_[result.verdict][result.reason];
      break;
    case Verdict::kPass:
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
  tally->headroom.add(check.worst.error, check.worst.bound);
}

SweepSummary Tally::counts() const {
  SweepSummary summary = counts_;
  for (const CheckTally& tally : checks_) {
    if (tally.num_compared == 0) continue;
    summary.headroom.push_back({.check = tally.check, .headroom = tally.headroom});
  }
  return summary;
}

void Tally::add_failing(const CaseReference& reference, const CaseResult& result) {
  const FirstCause cause = first_cause(result);
  ConditionTally one;
  one.signature = signature_of(result);
  one.num_cases = 1;
  one.num_places_max = cause.check != nullptr ? cause.check->failures.size() : 0;
  one.first_cases = {reference};
  if (cause.place != nullptr) one.place = *cause.place;
  ConditionTally& tally = signatures_[one.signature];
  tally.signature = one.signature;
  merge(tally, one);
  if (tally.first_cases.front().index == reference.index) keep_if_first(reference, result);
}

// The result is the first of its signature so far: it takes the place of the one kept before.
void Tally::keep_if_first(const CaseReference& reference, const CaseResult& result) {
  const Signature signature = signature_of(result);
  std::erase_if(failing_,
                [&](const FailingCase& known) { return signature_of(known.result) == signature; });
  const auto place = std::upper_bound(
      failing_.begin(), failing_.end(), reference.index, [](std::size_t index, const auto& known) {
        return index < known.reference.index;
      });
  failing_.insert(place, FailingCase{.reference = reference, .result = result});
  if (failing_.size() > kMaxCasesShown) failing_.pop_back();
}

std::vector<FailingCase> Tally::failing() const {
  std::vector<FailingCase> first = failing_;
  for (FailingCase& one : first) {
    one.num_alike = signatures_.at(signature_of(one.result)).num_cases - 1;
  }
  return first;
}

std::vector<ConditionTally> Tally::conditions() const {
  std::map<Signature, std::vector<ConditionTally>> buckets;
  for (const auto& [signature, tally] : signatures_) {
    Signature without_hint = signature;
    without_hint.hint.clear();
    buckets[without_hint].push_back(tally);
  }
  std::vector<ConditionTally> sorted;
  for (auto& [signature, bucket] : buckets) {
    while (!bucket.empty()) sorted.push_back(take_condition(bucket, commonest_cause(bucket)));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    if (a.num_cases != b.num_cases) return a.num_cases > b.num_cases;
    return a.first_cases.front().index < b.first_cases.front().index;
  });
  return sorted;
}

std::vector<std::pair<std::string, std::int64_t>> Tally::reasons(Verdict verdict) const {
  const auto found = reasons_.find(verdict);
  if (found == reasons_.end()) return {};
  std::vector<std::pair<std::string, std::int64_t>> sorted(found->second.begin(),
                                                           found->second.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second > b.second;
  });
  return sorted;
}

}  // namespace lockstep::matrix
