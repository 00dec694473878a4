// The table of checks: each holds a finished trial against what must be true.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::sim {

struct Check {
  std::string name;
  std::string summary;  // "holds when ..."
  bool built;
  CheckResult (*run)(const TrialResult&, const MeasuredOracle&);  // null where not built
  // Whether it says something of a trial whose ranks did not all reach the end.
  bool judges_unfinished = false;
};

// In the order in which results show them (architecture, section 6).
std::span<const Check> checks();
const Check* find_check(std::string_view name);

}  // namespace lockstep::sim
