// The outcome of a case: what one line of results.jsonl holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/case.h"
#include "simulator/checks/check_result.h"

namespace lockstep::matrix {

enum class Verdict { kPass, kFail, kError, kTimeout, kInvalid, kSkipped };
std::string_view name_of(Verdict verdict);

struct CaseResult {
  std::string name;  // the varied axes in the spec's order
  Case c;
  std::string comm = "inproc";  // what the ranks communicated by, as --comm spells it
  std::string device = "cpu";   // what they computed on, as --device spells it
  Verdict verdict = Verdict::kSkipped;
  double seconds = 0.0;
  std::string digest = {};
  std::string reason = {};  // of anything but a pass
  std::vector<sim::CheckResult> checks = {};
  // Of the same case on simulated ranks, where a confirmation ran it on both.
  std::string simulated_digest = {};
};

// One line of JSON (architecture, section 7) and back.
std::string result_to_json(const CaseResult& result);
CaseResult result_from_json(std::string_view line);

}  // namespace lockstep::matrix
