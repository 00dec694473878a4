// Explained places first, then the worst; nothing passes that was not compared.
#include "simulator/checks/tally.h"

#include <algorithm>
#include <utility>

#include "simulator/checks/block_error.h"
#include "simulator/checks/hint.h"

namespace lockstep::sim {
namespace {

// Written so that NaN fails.
bool holds(const Place& place) { return place.error <= place.bound; }

// A place that names its cause says more than one whose error is larger: what is wrong further from
// the cause is often wrong by more.
std::pair<bool, std::int64_t> precedence(const Place& place) {
  return {!names_cause(place.hint), place.distance};
}

bool is_kept_before(const Place& a, const Place& b) {
  if (precedence(a) != precedence(b)) return precedence(a) < precedence(b);
  return is_worse(excess(a.error, a.bound), excess(b.error, b.bound));
}

// By name, so that cases with the same failing places tell the same one first.
bool is_told_before(const Place& a, const Place& b) {
  return std::pair(precedence(a), a.where) < std::pair(precedence(b), b.where);
}

}  // namespace

bool is_worse(double a, double b) {
  if (a != a) return b == b;
  return a > b;
}

double excess(double error, double bound) {
  if (error == 0.0) return 0.0;
  return bound > 0.0 ? error / bound : 1.0 + error / kBoundF64;
}

Tally::Tally(std::string check) { result_.check = std::move(check); }

bool Tally::counts(double error, double bound, std::int64_t comparisons) {
  result_.compared += comparisons;
  if (is_muted_) return false;
  if (!(error <= bound) || !has_worst_) return true;
  return is_worse(excess(error, bound), excess(result_.worst.error, result_.worst.bound));
}

void Tally::add(Place place) {
  if (!has_worst_ || is_worse(excess(place.error, place.bound),
                              excess(result_.worst.error, result_.worst.bound))) {
    result_.worst = place;
  }
  has_worst_ = true;
  if (!holds(place)) result_.failures.push_back(std::move(place));
}

void Tally::fail(const std::string& reason) {
  if (result_.reason.empty()) result_.reason = reason;
}

void Tally::end_stage() { is_muted_ = is_muted_ || !result_.failures.empty(); }

CheckResult Tally::conclude() && {
  if (result_.reason.empty() && result_.compared != result_.expected) {
    result_.reason = "compared " + std::to_string(result_.compared) + " of " +
                     std::to_string(result_.expected) + " expected";
  }
  if (result_.reason.empty() && result_.expected == 0)
    result_.reason = "there was nothing to compare";
  const bool passes = result_.failures.empty() && result_.reason.empty();
  result_.verdict = passes ? CheckVerdict::kPass : CheckVerdict::kFail;
  std::vector<Place>& failures = result_.failures;
  if (failures.empty()) return std::move(result_);
  std::stable_sort(failures.begin(), failures.end(), is_kept_before);
  if (failures.size() > kMaxPlaces) failures.resize(kMaxPlaces);
  // A bitwise failure may be smaller than a rounding error that passes.
  result_.worst = failures.front();
  std::stable_sort(failures.begin(), failures.end(), is_told_before);
  return std::move(result_);
}

CheckResult not_applicable(std::string check, std::string reason) {
  CheckResult result;
  result.check = std::move(check);
  result.reason = std::move(reason);
  return result;
}

}  // namespace lockstep::sim
