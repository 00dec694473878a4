// What tests of CUDA's kernels share: a CPU and a GPU that are given the same numbers, and how what
// they compute is compared.
//
// Each input lies between guards that read as NaN, at an odd offset of its storage: what a kernel
// takes from beside it shows in the result. Outputs are poisoned where they are allocated, so that
// an element that nobody writes shows too.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tensor/cuda/cuda_device.h"
#include "tests/support/op_fixture.h"

namespace lockstep::test {

// The same of both devices.
template <typename T>
struct Both {
  T cpu;
  T gpu;
};
using Twin = Both<Tensor>;

enum class Side { kCpu, kGpu };
// One of the two: an op's context, and which of a pair is its own.
struct OpSide {
  const OpContext& ops;
  Side side;

  template <typename T>
  const T& of(const Both<T>& both) const {
    return side == Side::kCpu ? both.cpu : both.gpu;
  }
};

// Fails where the bits differ, or where an expected number is NaN; 0 and -0 differ.
testing::AssertionResult same_bits(const std::vector<double>& actual,
                                   const std::vector<double>& expected);

class GpuFixture {
 public:
  // Devices that compute in `dtype`; every test draws other numbers. UsageError without a GPU.
  explicit GpuFixture(DType dtype);

  // In [-1, 1), other numbers at each call: of the context's type, or of its accumulation type.
  Twin random(const Shape& shape);
  Twin random_main(const Shape& shape);
  Twin random(DType dtype, const Shape& shape);
  std::vector<double> draw(std::int64_t count);
  Twin reals(const std::vector<double>& values, const Shape& shape) const;
  Twin reals(DType dtype, const std::vector<double>& values, const Shape& shape) const;
  Twin integers(const std::vector<std::int64_t>& values) const;

  // What an op gives on each device: on_both([&](const OpSide& on) { return silu(on.ops,
  // on.of(x)); }).
  template <typename Op>
  auto on_both(const Op& op) const -> Both<decltype(op(std::declval<const OpSide&>()))> {
    auto cpu = op(OpSide{.ops = cpu_.ops(), .side = Side::kCpu});
    auto gpu = op(OpSide{.ops = gpu_ops_, .side = Side::kGpu});
    return {.cpu = std::move(cpu), .gpu = std::move(gpu)};
  }

  // For what is elementwise without exp, or sums in the CPU's order.
  testing::AssertionResult same_bits(const Twin& y) const;
  // An element may be off by `ulps_max` ulps of the accumulation type at the CPU's largest element,
  // for an exp or another order of summation. In bf16 that may turn the rounding at the store: one
  // step of the type at the element more. Infinities are the same.
  testing::AssertionResult close(const Twin& y, double ulps_max) const;
  // That nothing beside an input was written on the GPU.
  testing::AssertionResult guards_stand(const Twin& input) const;

  const OpContext& cpu() const { return cpu_.ops(); }
  const OpContext& gpu() const { return gpu_ops_; }
  CudaDevice& device() { return device_; }
  std::vector<double> read_gpu(const Tensor& tensor) const;

 private:
  OpFixture cpu_;
  Gpu gpu_;
  CudaDevice device_;
  KernelTable kernels_;
  OpContext gpu_ops_;
  std::uint64_t seed_;
  std::uint64_t num_draws_ = 0;
};

// A suite of one kernel over the types of reals: class CudaSilu : public GpuOpTest {}.
class GpuOpTest : public testing::TestWithParam<DType>, protected GpuFixture {
 protected:
  GpuOpTest() : GpuFixture(GetParam()) {}
};
// For INSTANTIATE_TEST_SUITE_P(, CudaSilu, kRealTypes, type_name).
inline const auto kRealTypes = testing::Values(DType::kF64, DType::kF32, DType::kBF16);
std::string type_name(const testing::TestParamInfo<DType>& row);

}  // namespace lockstep::test
