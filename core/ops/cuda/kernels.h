// CUDA's kernels, for all element types: each goes by those of its buffers.
#pragma once

#include <string>

#include "core/ops/kernels.h"

namespace lockstep {

// UsageError in a build without CUDA.
KernelTable cuda_kernels();

// "13.1.0", or "not in this build".
std::string cublas_version();

}  // namespace lockstep
