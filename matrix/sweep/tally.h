// What a sweep's results come to: counts, the worst place of each check, reasons and signatures.
//
// Grows by what is told, not by cases; the order in which results arrive does not matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "matrix/sweep/case_result.h"
#include "matrix/sweep/headroom.h"
#include "matrix/sweep/signature.h"
#include "matrix/sweep/summary.h"

namespace lockstep::matrix {

// A case by its position in the sweep, so that the first ones of many are always the same.
struct CaseReference {
  std::size_t index = 0;
  std::string name;
};

struct CheckTally {
  std::string check;
  std::int64_t num_passed = 0;
  std::int64_t num_failed = 0;
  std::int64_t num_not_applicable = 0;
  std::int64_t num_compared = 0;
  sim::Place worst;  // meaningful where something was compared
  CaseReference worst_case;
  Headroom headroom;  // of the worst places of cases
};

inline constexpr std::size_t kMaxNamesShown = 4;
inline constexpr std::size_t kMaxCasesShown = 6;

// A condition under which cases fail. Those with the same cause in their hints are one, whatever
// the ratio: "x0.5, x0.25 = 1/tp".
struct ConditionTally {
  Signature signature = {};
  std::int64_t num_cases = 0;
  std::size_t num_places_max = 0;               // failing places of the check, at most kMaxPlaces
  std::vector<CaseReference> first_cases = {};  // at most kMaxNamesShown
  sim::Place place = {};                        // of the first case
};

// The first case of a signature; the others of it would say the same again.
struct FailingCase {
  CaseReference reference;
  CaseResult result;
  std::int64_t num_alike = 0;  // further cases of its signature
};

class Tally {
 public:
  void add(std::size_t index, const CaseResult& result);

  std::int64_t count(Verdict verdict) const { return counts_.count(verdict); }
  std::int64_t num_bad() const { return counts_.num_bad(); }
  // With headroom, without name and times.
  SweepSummary counts() const;
  const std::vector<CheckTally>& checks() const { return checks_; }
  // Largest count first.
  std::vector<ConditionTally> conditions() const;
  // Why cases did not run, of those with this verdict: the largest count first.
  std::vector<std::pair<std::string, std::int64_t>> reasons(Verdict verdict) const;
  // One for each of the first kMaxCasesShown signatures, in the sweep's order.
  std::vector<FailingCase> failing() const;
  std::size_t num_signatures() const { return signatures_.size(); }

 private:
  void add_check(const CaseReference& reference, const sim::CheckResult& check);
  void add_failing(const CaseReference& reference, const CaseResult& result);
  void keep_if_first(const CaseReference& reference, const CaseResult& result);

  SweepSummary counts_;
  std::vector<CheckTally> checks_;  // in the order of the results
  std::map<Signature, ConditionTally> signatures_;
  std::map<Verdict, std::map<std::string, std::int64_t>> reasons_;  // of cases that did not run
  std::vector<FailingCase> failing_;
};

}  // namespace lockstep::matrix
