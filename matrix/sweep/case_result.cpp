// Names of the verdicts, as results, summaries and reports spell them.
#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kError:
      return "error";
    case Verdict::kTimeout:
      return "timeout";
    case Verdict::kInvalid:
      return "invalid";
    case Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

}  // namespace lockstep::matrix
