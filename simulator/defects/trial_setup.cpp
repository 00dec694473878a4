// A clean setup, and its text.
#include "simulator/defects/trial_setup.h"

#include <cstring>

#include "core/ops/cpu/kernels.h"

namespace lockstep::sim {

namespace {

// Of these parts of finalisation and of backward passes every label stands in the plans; of any
// other it cannot be said that none meets it.
bool is_planned(const std::string& label) {
  return label.starts_with("finalize.") || label.starts_with("backward.dp_sum.");
}

}  // namespace

TrialSetup make_setup(const Case& c) { return make_setup(c, cpu_kernels()); }

TrialSetup make_setup(const Case& c, const KernelTable& kernels) {
  return {.plans = make_plans(c),
          .dtype = dtype_of(c.recipe.dtype),
          .kernels = kernels,
          .device_kernels = kernels,
          .dropped_calls = {}};
}

std::string to_text(const TrialSetup& setup) {
  const std::string plans = lockstep::to_text(setup.plans);
  std::string drops;
  for (const std::string& label : setup.dropped_calls) {
    if (!is_planned(label) || plans.find("\n" + label) != std::string::npos) {
      drops += "port drops " + label + "*\n";
    }
  }
  // Kernels have no names: that one was replaced is all that can be said, and is enough.
  const bool is_own = std::memcmp(&setup.kernels, &setup.device_kernels, sizeof(KernelTable)) == 0;
  return plans + drops + (is_own ? "" : "kernels are not the device's own\n");
}

}  // namespace lockstep::sim
