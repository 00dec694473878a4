// What runs the ranks of a case: fibers or threads of this process, or processes of their own.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/config/case.h"
#include "simulator/runtime/cluster.h"

namespace lockstep::sim {
struct TrialResult;
}

namespace lockstep::matrix {

struct TrialRunner {
  std::string comm;  // as --comm spells it
  // Why this runner cannot run the case, though another one can; none where it can. A sentence.
  std::function<std::optional<std::string>(const Case& c)> why_not;
  // LaunchError where ranks cannot be started; what the ranks do is in the result.
  std::function<sim::TrialResult(const Case& c)> run;
};

TrialRunner simulated_ranks(sim::RankHost host);

}  // namespace lockstep::matrix
