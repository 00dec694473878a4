// All that a trial is made of before it runs, by value: what defects edit.
#pragma once

#include <string>
#include <vector>

#include "core/ops/kernels.h"
#include "core/train/plans.h"

namespace lockstep::sim {

struct TrialSetup {
  Plans plans;
  DType dtype = DType::kF64;  // of activations and parameters
  KernelTable kernels;
  KernelTable device_kernels;  // the same before any edit
  // Beginnings of labels: collective calls that never reach the communicator.
  std::vector<std::string> dropped_calls;
};

// On the CPU, or with the kernels of another device.
TrialSetup make_setup(const Case& c);
TrialSetup make_setup(const Case& c, const KernelTable& kernels);

// The plans' text, and a line for each drop that meets a label of the plans: what a setup does. An
// edit that leaves it unchanged is inert.
std::string to_text(const TrialSetup& setup);

}  // namespace lockstep::sim
