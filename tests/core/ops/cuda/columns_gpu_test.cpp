// Copies of columns on CUDA against the CPU: elements of any type as they are.
#include <numeric>

#include "core/ops/elementwise.h"
#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep {
namespace {

using test::OpSide;
using test::Twin;
using test::type_name;

class CudaColumns : public testing::TestWithParam<DType>, protected test::GpuFixture {
 protected:
  CudaColumns() : GpuFixture(GetParam() == DType::kI64 ? DType::kF64 : GetParam()) {}

  Twin matrix(std::int64_t rows, std::int64_t columns) {
    if (GetParam() != DType::kI64) return random({rows, columns});
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows * columns));
    std::iota(numbers.begin(), numbers.end(), 1);
    const Twin flat = integers(numbers);
    return {.cpu = flat.cpu.reshaped({rows, columns}), .gpu = flat.gpu.reshaped({rows, columns})};
  }

  template <typename Op>
  void expect_same(const Op& op) {
    Twin y = on_both(op);
    for (Tensor* const tensor : {&y.cpu, &y.gpu}) {
      EXPECT_EQ(tensor->dtype, GetParam());
      // Integers are read as the f64 of the same bits.
      if (tensor->dtype == DType::kI64) tensor->dtype = DType::kF64;
    }
    EXPECT_EQ(y.gpu.shape, y.cpu.shape);
    EXPECT_TRUE(same_bits(y)) << to_text(y.cpu.shape);
  }
};

TEST_P(CudaColumns, AreTheCpusSlice) {
  const Twin x = matrix(7, 90);
  expect_same([&](const OpSide& on) { return columns(on.ops, on.of(x), 13, 40); });
  expect_same([&](const OpSide& on) { return columns(on.ops, on.of(x), 89, 1); });
  expect_same([&](const OpSide& on) { return columns(on.ops, on.of(x), 5, 0); });
  const Twin large = matrix(1100, 1000);
  expect_same([&](const OpSide& on) { return columns(on.ops, on.of(large), 1, 998); });
}

TEST_P(CudaColumns, AreTheCpusParts) {
  const Twin x = matrix(7, 90);
  expect_same([&](const OpSide& on) { return columns_split(on.ops, on.of(x), 5); });
  expect_same([&](const OpSide& on) { return columns_split(on.ops, on.of(x), 1); });
}

TEST_P(CudaColumns, AreTheCpusJoinedParts) {
  const Twin parts = matrix(15, 42);
  expect_same([&](const OpSide& on) {
    return columns_joined(on.ops, on.of(parts).reshaped({5, 7, 18}), 5, {7, 90});
  });
}

INSTANTIATE_TEST_SUITE_P(,
                         CudaColumns,
                         testing::Values(DType::kF64, DType::kF32, DType::kBF16, DType::kI64),
                         type_name);

class CudaPaddedColumns : public test::GpuOpTest {};

TEST_P(CudaPaddedColumns, AreTheCpusWithZerosAround) {
  const Twin x = random({7, 33});
  EXPECT_TRUE(same_bits(
      on_both([&](const OpSide& on) { return columns_padded(on.ops, on.of(x), 13, 90); })));
}

INSTANTIATE_TEST_SUITE_P(, CudaPaddedColumns, test::kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
