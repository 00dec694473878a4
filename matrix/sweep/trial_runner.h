// What runs the ranks of a case: fibers or threads of this process, or ranks of other processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/config/case.h"
#include "simulator/runtime/cluster.h"

namespace lockstep {
class Gpu;
}

namespace lockstep::sim {
struct TrialResult;
}

namespace lockstep::matrix {

struct TrialRunner {
  std::string comm;            // as --comm spells it
  std::string device = "cpu";  // as --device spells it
  // Why this runner cannot run the case, though another one can; none where it can. A sentence.
  std::function<std::optional<std::string>(const Case& c)> why_not;
  // LaunchError where ranks cannot be started; what the ranks do is in the result.
  std::function<sim::TrialResult(const Case& c)> run;
  // Whether this process can run nothing more: what it ran on is lost to it.
  std::function<bool()> is_spent = [] { return false; };
};

// On the CPU.
TrialRunner simulated_ranks(sim::RankHost host);
// All ranks on one GPU.
TrialRunner simulated_ranks(sim::RankHost host, std::shared_ptr<Gpu> gpu);

}  // namespace lockstep::matrix
