// What failing cases have in common, so that a report tells conditions before cases.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

// Of a failing case: its first cause. A mismatch of collectives breaks all that follows, and what
// goes wrong in an early step breaks later ones; of the places that remain the one that its check
// tells first, which is the same for every case in which all of them fail. Errors and timeouts have
// their reason.
struct Signature {
  Verdict verdict = Verdict::kFail;
  std::string check = {};
  std::string where = {};
  std::string hint = {};
  std::string reason = {};
  auto operator<=>(const Signature&) const = default;
};

struct FirstCause {
  const sim::CheckResult* check = nullptr;  // none: an error or a timeout
  const sim::Place* place = nullptr;        // none: the check has a reason only
};

FirstCause first_cause(const CaseResult& result);
Signature signature_of(const CaseResult& result);

// "x0.5 = 1/tp or 1/dp" taken apart; without " = " there are no causes.
struct HintParts {
  std::string ratio;
  std::vector<std::string> causes;
};
HintParts hint_parts(std::string_view hint);

}  // namespace lockstep::matrix
