// In a build without CUDA: no kernels.
#include "core/base/errors.h"
#include "core/ops/cuda/kernels.h"
#include "core/tensor/cuda/gpu.h"

namespace lockstep {

KernelTable cuda_kernels() { throw UsageError(why_no_cuda()); }
std::string cublas_version() { return "not in this build"; }

}  // namespace lockstep
