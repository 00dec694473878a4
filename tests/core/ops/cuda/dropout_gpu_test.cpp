// Dropout on CUDA against the CPU, and against its definition: the same bits.
#include <cmath>

#include "core/base/random.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep {
namespace {

using test::GpuOpTest;
using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;

struct DropoutCase {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t width;
  std::int64_t first_column;
};

// The last is more than one pass of the largest grid.
constexpr DropoutCase kCases[] = {
    {.rows = 1, .columns = 1, .width = 1, .first_column = 0},
    {.rows = 7, .columns = 33, .width = 100, .first_column = 67},
    {.rows = 130, .columns = 257, .width = 257, .first_column = 0},
    {.rows = 1100, .columns = 1000, .width = 2000, .first_column = 1000},
};
constexpr double kProbabilities[] = {0.0, 0.1, 0.5};

// The first and every fifth are padding, the others of a large tensor and in no order.
std::vector<std::int64_t> rows_of(std::int64_t count) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    rows.push_back(i % 5 == 0 && count > 1 ? -1 : (std::int64_t{1} << 33) - 7 * i);
  }
  return rows;
}

class CudaDropout : public GpuOpTest {
 protected:
  static Dropout dropout_of(double probability) {
    return {.probability = probability, .seed = 11, .stream = 0xfedcba9876543210ULL};
  }
};

TEST_P(CudaDropout, IsTheCpusOnRandomInput) {
  for (const DropoutCase& sizes : kCases) {
    const Twin x = random({sizes.rows, sizes.columns});
    const Twin rows = integers(rows_of(sizes.rows));
    for (const double probability : kProbabilities) {
      const Twin y = on_both([&](const OpSide& on) {
        return dropout(
            on.ops,
            on.of(x),
            {.rows = on.of(rows), .width = sizes.width, .first_column = sizes.first_column},
            dropout_of(probability));
      });
      EXPECT_TRUE(same_bits(y)) << sizes.rows << " rows of " << sizes.columns << ", "
                                << probability;
    }
  }
}

// Element by element by its definition, without the CPU's word.
TEST_P(CudaDropout, DropsByTheIndexInTheWholeTensorAndLeavesPadding) {
  const DropoutCase& sizes = kCases[1];
  const std::vector<std::int64_t> rows = rows_of(sizes.rows);
  const Twin x = reals(std::vector<double>(7 * 33, 1.5), {sizes.rows, sizes.columns});
  const Dropout half = dropout_of(0.5);
  const std::vector<double> y = read_gpu(dropout(
      gpu(),
      x.gpu,
      {.rows = integers(rows).gpu, .width = sizes.width, .first_column = sizes.first_column},
      half));
  std::vector<double> expected;
  for (const std::int64_t row : rows) {
    for (std::int64_t j = 0; j < sizes.columns; ++j) {
      const std::int64_t index = row * sizes.width + sizes.first_column + j;
      const bool is_dropped =
          random_unit(half.seed, half.stream, static_cast<std::uint64_t>(index)) < 0.5;
      expected.push_back(row < 0 ? 1.5 : is_dropped ? 0.0 : 3.0);
    }
  }
  EXPECT_TRUE(test::same_bits(y, expected));
}

TEST_P(CudaDropout, OfNothingDoesNothing) {
  const Twin x = reals({}, {2, 0});
  const Twin rows = integers({3, 4});
  const Tensor y = dropout(gpu(), x.gpu, {.rows = rows.gpu, .width = 5}, dropout_of(0.5));
  EXPECT_EQ(y.num_elements(), 0);
}

INSTANTIATE_TEST_SUITE_P(, CudaDropout, kRealTypes, type_name);

// The type is the result's.
class CudaConvert : public GpuOpTest {
 protected:
  void expect_conversion_of(DType from) {
    for (const std::int64_t size : {1, 255, 4096 * 256 + 12345}) {
      const Twin x = random(from, {size});
      EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
        return converted(on.ops, on.of(x), GetParam());
      }))) << size
           << " of " << name_of(from);
    }
  }
};

TEST_P(CudaConvert, OfF64IsTheCpusOnRandomInput) { expect_conversion_of(DType::kF64); }
TEST_P(CudaConvert, OfF32IsTheCpusOnRandomInput) { expect_conversion_of(DType::kF32); }
TEST_P(CudaConvert, OfBf16IsTheCpusOnRandomInput) { expect_conversion_of(DType::kBF16); }

// 1 + 2^-p + 2^-50 is above the middle of a type's step 2^(1-p) at 1. Rounded to f32 on the way it
// would be the middle for bf16, and fall to 1.
TEST_P(CudaConvert, OfF64IsRoundedOnce) {
  const double half = GetParam() == DType::kBF16 ? 0x1p-8 : 0x1p-24;
  const double number = 1.0 + half + 0x1p-50;
  const Twin x = reals(DType::kF64, {number, -number}, {2});
  const double expected = GetParam() == DType::kF64 ? number : 1.0 + 2.0 * half;
  EXPECT_TRUE(
      test::same_bits(read_gpu(converted(gpu(), x.gpu, GetParam())), {expected, -expected}));
}

INSTANTIATE_TEST_SUITE_P(, CudaConvert, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
