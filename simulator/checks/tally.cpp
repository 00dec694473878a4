// Explained places first, then the worst; nothing passes that was not compared.
#include "simulator/checks/tally.h"

#include <algorithm>
#include <utility>

#include "simulator/checks/hint.h"

namespace lockstep::sim {
namespace {

// Written so that NaN fails.
bool holds(const Place& place) { return place.error <= place.bound; }

// A place that names its cause says more than one whose error is larger: what is wrong further from
// the cause is often wrong by more.
bool is_told_before(const Place& a, const Place& b) {
  const bool a_is_explained = names_cause(a.hint);
  if (a_is_explained != names_cause(b.hint)) return a_is_explained;
  return is_worse(a.error, b.error);
}

}  // namespace

bool is_worse(double a, double b) {
  if (a != a) return b == b;
  return a > b;
}

Tally::Tally(std::string check) { result_.check = std::move(check); }

bool Tally::counts(double error, double bound, std::int64_t comparisons) {
  result_.compared += comparisons;
  if (is_muted_) return false;
  return !(error <= bound) || !has_worst_ || is_worse(error, result_.worst.error);
}

void Tally::add(Place place) {
  if (!has_worst_ || is_worse(place.error, result_.worst.error)) result_.worst = place;
  has_worst_ = true;
  if (!holds(place)) result_.failures.push_back(std::move(place));
}

void Tally::fail(const std::string& reason) {
  if (result_.reason.empty()) result_.reason = reason;
}

void Tally::end_step() { is_muted_ = is_muted_ || !result_.failures.empty(); }

CheckResult Tally::conclude() && {
  if (result_.reason.empty() && result_.compared != result_.expected) {
    result_.reason = "compared " + std::to_string(result_.compared) + " of " +
                     std::to_string(result_.expected) + " expected";
  }
  const bool passes = result_.failures.empty() && result_.reason.empty();
  result_.verdict = passes ? CheckVerdict::kPass : CheckVerdict::kFail;
  std::stable_sort(result_.failures.begin(), result_.failures.end(), is_told_before);
  if (result_.failures.size() > kMaxPlaces) result_.failures.resize(kMaxPlaces);
  // A bitwise failure may be smaller than a rounding error that passes.
  if (!result_.failures.empty()) result_.worst = result_.failures.front();
  return std::move(result_);
}

CheckResult not_applicable(std::string check, std::string reason) {
  CheckResult result;
  result.check = std::move(check);
  result.reason = std::move(reason);
  return result;
}

}  // namespace lockstep::sim
