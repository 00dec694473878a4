// Sums over whole buffers on CUDA: exact where every order gives the same, else near the exact sum;
// and the same bits each time.
#include <cmath>

#include "core/ops/elementwise.h"
#include "core/ops/statistics.h"
#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep {
namespace {

using test::GpuOpTest;
using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;
using test::values_of;

// Of one block's threads: less than one each, exactly one, a few, and a thousand.
constexpr std::int64_t kSizes[] = {1, 31, 1000, 1024, 1025, 5000, 4096 * 256 + 12345};
// A thread's own terms and the tree over the threads: of f64 numbers of one sign.
constexpr double kUlps = 16;

class CudaSums : public GpuOpTest {
 protected:
  // Multiples of 1/8 in [-1, 1]. Products are multiples of 1/64, and sums of a million of them are
  // far below 2^18: exact in every type that sums are kept in.
  Twin eighths(std::int64_t count) {
    std::vector<double> numbers = draw(count);
    for (double& number : numbers) number = std::round(number * 8.0) / 8.0;
    return reals(numbers, {count});
  }
  // In [0.5, 1): nothing cancels.
  Twin positive(std::int64_t count) {
    std::vector<double> numbers = draw(count);
    for (double& number : numbers) number = 0.75 + 0.25 * number;
    return reals(numbers, {count});
  }
  // What the GPU computed beside an exact sum, rounded to its type.
  Twin beside(long double exact, const Tensor& computed) const {
    return {.cpu = reals(computed.dtype, {static_cast<double>(exact)}, {1}).cpu, .gpu = computed};
  }
};

TEST_P(CudaSums, WeightedIsExactlyTheCpusWhereAllOrdersAgree) {
  for (const std::int64_t size : kSizes) {
    const Twin x = eighths(size);
    const Twin weight = eighths(size);
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return weighted_sum(on.ops, on.of(x), on.of(weight));
    }))) << size;
  }
}

TEST_P(CudaSums, WeightedIsNearTheExactSum) {
  for (const std::int64_t size : kSizes) {
    const Twin x = positive(size);
    const Twin weight = positive(size);
    const std::vector<double> xs = values_of(x.cpu);
    const std::vector<double> weights = values_of(weight.cpu);
    long double exact = 0.0L;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      exact += static_cast<long double>(xs[i]) * static_cast<long double>(weights[i]);
    }
    EXPECT_TRUE(close(beside(exact, weighted_sum(gpu(), x.gpu, weight.gpu)), kUlps)) << size;
  }
}

TEST_P(CudaSums, OfSquaresIsNearTheExactSum) {
  for (const std::int64_t size : kSizes) {
    const Twin x = random({size});
    long double exact = 0.0L;
    for (const double value : values_of(x.cpu)) {
      exact += static_cast<long double>(value) * static_cast<long double>(value);
    }
    const Tensor computed = sum_of_squares(gpu(), x.gpu, "test");
    EXPECT_EQ(computed.dtype, DType::kF64);
    EXPECT_TRUE(close(beside(exact, computed), kUlps)) << size;
  }
}

TEST_P(CudaSums, OfSquaresOfOnesIsTheirNumber) {
  constexpr std::int64_t kCount = 3'000'001;
  const Twin ones = reals(std::vector<double>(kCount, 1.0), {kCount});
  EXPECT_TRUE(test::same_bits(read_gpu(sum_of_squares(gpu(), ones.gpu, "test")), {3'000'001.0}));
}

TEST_P(CudaSums, CountTheZerosThatTheCpuCounts) {
  for (const std::int64_t size : kSizes) {
    std::vector<double> numbers = draw(size);
    for (std::size_t i = 0; i < numbers.size(); i += 3) numbers[i] = i % 2 == 0 ? 0.0 : -0.0;
    const Twin x = reals(numbers, {size});
    const Twin zeros =
        on_both([&](const OpSide& on) { return count_zeros(on.ops, on.of(x), "test"); });
    EXPECT_TRUE(same_bits(zeros)) << size;
    EXPECT_EQ(read_gpu(zeros.gpu)[0], static_cast<double>((size + 2) / 3)) << size;
  }
}

// Below the smallest normal number of f32 and bf16, and a number all the same.
TEST_P(CudaSums, ASubnormalIsNoZero) {
  const Twin x = reals({1e-40, 0.0, -1e-40}, {3});
  EXPECT_EQ(read_gpu(count_zeros(gpu(), x.gpu, "test"))[0], 1.0);
}

TEST_P(CudaSums, OfNothingAreZero) {
  const Twin x = reals({}, {0});
  EXPECT_TRUE(test::same_bits(read_gpu(weighted_sum(gpu(), x.gpu, x.gpu)), {0.0}));
  EXPECT_TRUE(test::same_bits(read_gpu(sum_of_squares(gpu(), x.gpu, "test")), {0.0}));
  EXPECT_TRUE(test::same_bits(read_gpu(count_zeros(gpu(), x.gpu, "test")), {0.0}));
}

TEST_P(CudaSums, GiveTheSameBitsEachTime) {
  constexpr std::int64_t kCount = 1'000'003;
  const Twin x = random({kCount});
  const Twin weight = random({kCount});
  const auto weighted = [&] { return read_gpu(weighted_sum(gpu(), x.gpu, weight.gpu)); };
  const auto squares = [&] { return read_gpu(sum_of_squares(gpu(), x.gpu, "test")); };
  const std::vector<double> first_weighted = weighted();
  const std::vector<double> first_squares = squares();
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_TRUE(test::same_bits(weighted(), first_weighted));
    EXPECT_TRUE(test::same_bits(squares(), first_squares));
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaSums, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
