// A clean setup, and its text.
#include "simulator/defects/trial_setup.h"

#include <cstring>

#include "core/ops/cpu/kernels.h"

namespace lockstep::sim {

TrialSetup make_setup(const Case& c) {
  const DType dtype = dtype_of(c.recipe.dtype);
  return {
      .plans = make_plans(c), .dtype = dtype, .kernels = cpu_kernels(dtype), .dropped_calls = {}};
}

std::string to_text(const TrialSetup& setup) {
  const std::string plans = lockstep::to_text(setup.plans);
  std::string drops;
  for (const std::string& label : setup.dropped_calls) {
    // Only finalisation's labels stand in plans; of any other it cannot be said that none meets it.
    const bool is_known = label.starts_with("finalize.");
    if (!is_known || plans.find("\n" + label) != std::string::npos)
      drops += "port drops " + label + "*\n";
  }
  // Kernels have no names: that one was replaced is all that can be said, and is enough.
  const KernelTable own = cpu_kernels(setup.dtype);
  const bool is_own = std::memcmp(&setup.kernels, &own, sizeof(KernelTable)) == 0;
  return plans + drops + (is_own ? "" : "kernels are not the device's own\n");
}

}  // namespace lockstep::sim
