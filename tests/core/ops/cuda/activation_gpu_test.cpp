// SiLU and what is gated by it, on CUDA against the CPU. The exp is each device's own, an ulp or so
// off, which up to six roundings carry on and may turn.
#include "core/ops/elementwise.h"
#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep {
namespace {

using test::GpuOpTest;
using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;

constexpr double kUlps = 8;
// No multiples of a block, and more than one pass of the largest grid.
constexpr std::int64_t kSizes[] = {1, 255, 1000, 4096 * 256 + 12345};

class CudaSilu : public GpuOpTest {};

TEST_P(CudaSilu, IsTheCpusOnRandomInput) {
  for (const std::int64_t size : kSizes) {
    const Twin x = random({size});
    const Twin y = on_both([&](const OpSide& on) { return silu(on.ops, on.of(x)); });
    EXPECT_TRUE(close(y, kUlps)) << size;
  }
}

TEST_P(CudaSilu, IsExactWhereExpOverflowsOrVanishes) {
  const Twin x = reals({-1000.0, -800.0, 50.0, 100.0, 1000.0}, {5});
  const Twin y = on_both([&](const OpSide& on) { return silu(on.ops, on.of(x)); });
  EXPECT_TRUE(test::same_bits(read_gpu(y.gpu), {-0.0, -0.0, 50.0, 100.0, 1000.0}));
}

INSTANTIATE_TEST_SUITE_P(, CudaSilu, kRealTypes, type_name);

class CudaSiluBackward : public GpuOpTest {};

TEST_P(CudaSiluBackward, IsTheCpusOnRandomInput) {
  for (const std::int64_t size : kSizes) {
    const Twin x = random({size});
    const Twin dy = random({size});
    const Twin dx = on_both(
        [&](const OpSide& on) { return silu_backward(on.ops, {.x = on.of(x)}, on.of(dy)); });
    EXPECT_TRUE(close(dx, kUlps)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaSiluBackward, kRealTypes, type_name);

// Rows, then the width of gate and up each.
constexpr std::int64_t kGated[][2] = {{1, 1}, {5, 33}, {130, 90}, {300, 4097}};

class CudaGatedSilu : public GpuOpTest {};

TEST_P(CudaGatedSilu, IsTheCpusOnRandomInput) {
  for (const auto& [rows, width] : kGated) {
    const Twin x = random({rows, 2 * width});
    const Twin y = on_both([&](const OpSide& on) { return gated_silu(on.ops, on.of(x)); });
    EXPECT_TRUE(close(y, kUlps)) << rows << " rows of " << width;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaGatedSilu, kRealTypes, type_name);

class CudaGatedSiluBackward : public GpuOpTest {};

TEST_P(CudaGatedSiluBackward, IsTheCpusOnRandomInput) {
  for (const auto& [rows, width] : kGated) {
    const Twin x = random({rows, 2 * width});
    const Twin dy = random({rows, width});
    const Twin dx = on_both(
        [&](const OpSide& on) { return gated_silu_backward(on.ops, {.x = on.of(x)}, on.of(dy)); });
    EXPECT_TRUE(close(dx, kUlps)) << rows << " rows of " << width;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaGatedSiluBackward, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
