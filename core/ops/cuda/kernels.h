// CUDA's kernels, for all element types: each goes by those of its buffers.
#pragma once

#include "core/ops/kernels.h"

namespace lockstep {

// UsageError in a build without CUDA.
KernelTable cuda_kernels();

}  // namespace lockstep
