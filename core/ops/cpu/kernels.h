// The CPU's kernels, for one element type of activations and parameters.
#pragma once

#include "core/ops/kernels.h"

namespace lockstep {

// InternalError for a type that has no kernels yet: only f64 has.
KernelTable cpu_kernels(DType dtype);

}  // namespace lockstep
