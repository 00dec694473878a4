// What a sweep's results come to: counts, the worst place of each check, reasons and signatures.
//
// Grows by what is told, not by cases; the order in which results arrive does not matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "matrix/sweep/case_result.h"
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
};

// What failing cases have in common: the first check that failed (collectives before all others,
// for what they break breaks the rest), where, and the hint. Errors and timeouts have their reason.
struct Signature {
  Verdict verdict = Verdict::kFail;
  std::string check;
  std::string where;
  std::string hint;
  std::string reason;
  auto operator<=>(const Signature&) const = default;
};

Signature signature_of(const CaseResult& result);

inline constexpr std::size_t kMaxNamesShown = 4;
inline constexpr std::size_t kMaxCasesShown = 16;

struct SignatureTally {
  Signature signature;
  std::int64_t num_cases = 0;
  std::vector<CaseReference> first_cases;  // at most kMaxNamesShown
  sim::Place place;                        // of the first case
};

struct FailingCase {
  CaseReference reference;
  CaseResult result;
};

class Tally {
 public:
  void add(std::size_t index, const CaseResult& result);

  std::int64_t count(Verdict verdict) const { return counts_.count(verdict); }
  std::int64_t num_bad() const { return counts_.num_bad(); }
  const SweepSummary& counts() const { return counts_; }
  const std::vector<CheckTally>& checks() const { return checks_; }
  // Largest count first.
  std::vector<SignatureTally> signatures() const;
  std::vector<std::pair<std::string, std::int64_t>> invalid_reasons() const;
  // The first kMaxCasesShown of them, in the sweep's order.
  const std::vector<FailingCase>& failing() const { return failing_; }

 private:
  void add_check(const CaseReference& reference, const sim::CheckResult& check);
  void add_failing(const CaseReference& reference, const CaseResult& result);

  SweepSummary counts_;
  std::vector<CheckTally> checks_;  // in the order of the results
  std::map<Signature, SignatureTally> signatures_;
  std::map<std::string, std::int64_t> invalid_reasons_;
  std::vector<FailingCase> failing_;
};

}  // namespace lockstep::matrix
