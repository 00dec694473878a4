// A clean setup, and its text.
#include "simulator/defects/trial_setup.h"

#include "core/ops/cpu/kernels.h"

namespace lockstep::sim {

TrialSetup make_setup(const Case& c) {
  return {.plans = make_plans(c), .kernels = cpu_kernels(DType::kF64), .dropped_calls = {}};
}

std::string to_text(const TrialSetup& setup) {
  const std::string plans = lockstep::to_text(setup.plans);
  std::string drops;
  for (const std::string& label : setup.dropped_calls) {
    if (plans.find("\n" + label) != std::string::npos) drops += "port drops " + label + "*\n";
  }
  return plans + drops;
}

}  // namespace lockstep::sim
