// The CPU's kernels, for all element types: each goes by those of its buffers.
#pragma once

#include "core/ops/kernels.h"

namespace lockstep {

KernelTable cpu_kernels();

}  // namespace lockstep
