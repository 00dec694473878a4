// Without CUDA or without a GPU one sentence says what is missing, and nothing else works by
// halves.
#include <gtest/gtest.h>

#include <string>

#include "core/base/errors.h"
#include "core/tensor/cuda/cuda_device.h"

namespace lockstep {
namespace {

TEST(CudaAbsent, AMachineHasGpusOrAReasonWhyNot) {
  EXPECT_EQ(why_no_cuda().empty(), num_gpus() > 0) << num_gpus() << " GPUs, " << why_no_cuda();
  EXPECT_GE(num_gpus(), 0);
}

TEST(CudaAbsent, TheFirstGpuIsThereOrRefusedWithTheReason) {
  std::string refusal;
  try {
    const Gpu gpu(0);
    EXPECT_EQ(gpu.ordinal(), 0);
  } catch (const UsageError& error) {
    refusal = error.what();
  }
  EXPECT_EQ(refusal, why_no_cuda());
}

TEST(CudaAbsent, TheVersionIsToldAllTheSame) { EXPECT_FALSE(cuda_version().empty()); }

}  // namespace
}  // namespace lockstep
