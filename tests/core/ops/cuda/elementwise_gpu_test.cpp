// Elementwise kernels on CUDA against the CPU: without exp they give the same bits.
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep {
namespace {

using test::GpuOpTest;
using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;

// No multiples of a block, and more than one pass of the largest grid.
constexpr std::int64_t kSizes[] = {1, 255, 1000, 4096 * 256 + 12345};

class CudaAdd : public GpuOpTest {};

TEST_P(CudaAdd, IsTheCpusOnRandomInput) {
  for (const std::int64_t size : kSizes) {
    const Twin a = random({size});
    const Twin b = random({size});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return add(on.ops, on.of(a), on.of(b));
    }))) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaAdd, kRealTypes, type_name);

// The type is the sum's.
class CudaAccumulate : public GpuOpTest {
 protected:
  void expect_sums_of(DType added) {
    for (const std::int64_t size : kSizes) {
      const Twin x = random(added, {size});
      const Twin sum = random({size});
      on_both([&](const OpSide& on) {
        accumulate(on.ops, {.x = on.of(x), .sum = on.of(sum)}, "test");
        return 0;
      });
      EXPECT_TRUE(same_bits(sum)) << size << " of " << name_of(added);
      EXPECT_TRUE(guards_stand(sum)) << size << " of " << name_of(added);
    }
  }
};

TEST_P(CudaAccumulate, OfF64IsTheCpusOnRandomInput) { expect_sums_of(DType::kF64); }
TEST_P(CudaAccumulate, OfF32IsTheCpusOnRandomInput) { expect_sums_of(DType::kF32); }
TEST_P(CudaAccumulate, OfBf16IsTheCpusOnRandomInput) { expect_sums_of(DType::kBF16); }

// 1 + 2^-p + 2^-50 is above the middle of a type's step 2^(1-p) at 1. Rounded to f32 on the way it
// would be the middle for bf16, and fall to 1.
TEST_P(CudaAccumulate, OfF64IsRoundedOnce) {
  const double half = GetParam() == DType::kBF16 ? 0x1p-8 : 0x1p-24;
  const Twin x = reals(DType::kF64, {half + 0x1p-50}, {1});
  const Twin sum = reals({1.0}, {1});
  accumulate(gpu(), {.x = x.gpu, .sum = sum.gpu}, "test");
  const double expected = GetParam() == DType::kF64 ? 1.0 + half + 0x1p-50 : 1.0 + 2.0 * half;
  EXPECT_TRUE(test::same_bits(read_gpu(sum.gpu), {expected}));
}

INSTANTIATE_TEST_SUITE_P(, CudaAccumulate, kRealTypes, type_name);

class CudaScale : public GpuOpTest {};

TEST_P(CudaScale, IsTheCpusOnRandomInputAndStaysInPlace) {
  for (const std::int64_t size : kSizes) {
    const Twin x = random({size});
    on_both([&](const OpSide& on) {
      scale_in_place(on.ops, on.of(x), 1.0 / 3.0, "test");
      return 0;
    });
    EXPECT_TRUE(same_bits(x)) << size;
    EXPECT_TRUE(guards_stand(x)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaScale, kRealTypes, type_name);

class CudaScaleBy : public GpuOpTest {};

TEST_P(CudaScaleBy, IsTheCpusOnRandomInput) {
  for (const std::int64_t size : kSizes) {
    const Twin x = random({size});
    const Twin factor = random({1});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return scaled_by(on.ops, on.of(x), on.of(factor));
    }))) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaScaleBy, kRealTypes, type_name);

class CudaFill : public GpuOpTest {};

TEST_P(CudaFill, WritesTheRoundedNumberEverywhereAndNowhereElse) {
  for (const std::int64_t size : kSizes) {
    const Twin out = random({size});
    on_both([&](const OpSide& on) {
      fill(on.ops, on.of(out), -0.1, "test");
      return 0;
    });
    EXPECT_TRUE(same_bits(out)) << size;
    EXPECT_TRUE(guards_stand(out)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaFill, kRealTypes, type_name);

// Rows and columns.
constexpr std::int64_t kMatrices[][2] = {{1, 1}, {7, 33}, {130, 4097}, {1100, 1000}};

class CudaBias : public GpuOpTest {};

TEST_P(CudaBias, AddedIsTheCpusOnRandomInput) {
  for (const auto& [rows, columns] : kMatrices) {
    const Twin x = random({rows, columns});
    const Twin b = random({columns});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return add_bias(on.ops, on.of(x), on.of(b));
    }))) << rows
         << " rows of " << columns;
  }
}

// Each column is one thread's, which takes the rows in the CPU's order.
TEST_P(CudaBias, ItsGradientIsTheCpusOnRandomInput) {
  for (const auto& [rows, columns] : kMatrices) {
    const Twin dy = random({rows, columns});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return add_bias_backward_bias(on.ops, on.of(dy));
    }))) << rows
         << " rows of " << columns;
  }
}

TEST_P(CudaBias, ItsGradientOverNoRowsIsZero) {
  const Twin dy = reals({}, {0, 5});
  const Tensor db = add_bias_backward_bias(gpu(), dy.gpu);
  EXPECT_TRUE(test::same_bits(read_gpu(db), std::vector<double>(5, 0.0)));
}

INSTANTIATE_TEST_SUITE_P(, CudaBias, kRealTypes, type_name);

class CudaElementwise : public GpuOpTest {};

TEST_P(CudaElementwise, KernelsOfNothingDoNothing) {
  const Twin x = reals({}, {0});
  const Twin factor = random({1});
  const OpContext& ops = gpu();
  EXPECT_EQ(add(ops, x.gpu, x.gpu).num_elements(), 0);
  EXPECT_EQ(scaled_by(ops, x.gpu, factor.gpu).num_elements(), 0);
  EXPECT_EQ(silu(ops, x.gpu).num_elements(), 0);
  accumulate(ops, {.x = x.gpu, .sum = x.gpu}, "test");
  scale_in_place(ops, x.gpu, 2.0, "test");
  fill(ops, x.gpu, 2.0, "test");
  EXPECT_TRUE(guards_stand(x));
}

INSTANTIATE_TEST_SUITE_P(, CudaElementwise, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
