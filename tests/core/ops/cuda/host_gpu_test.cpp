// Numbers between the host and CUDA: rounded as on the CPU, and taken before the call returns.
#include <algorithm>
#include <bit>
#include <limits>

#include "core/ops/host.h"
#include "tests/core/ops/cuda/gpu_fixture.h"
#include "tests/core/tensor/cuda/gpu_work.h"

namespace lockstep {
namespace {

using test::GpuOpTest;
using test::kRealTypes;
using test::Twin;
using test::type_name;

// Around what the driver stages at once, which is some 64 KiB, and far above.
constexpr std::int64_t kSizes[] = {1, 1000, 8191, 8193, 300'000};

class CudaHost : public GpuOpTest {
 protected:
  // Keeps what follows on the stream from running for a while.
  void keep_busy() {
    const Launch launch{.label = "test.spin",
                        .body = [](const LaunchTarget& target) { test::spin(target, 20'000'000); }};
    device().launch(launch);
  }
};

TEST_P(CudaHost, RealsAreRoundedAsOnTheCpuAndReadBackAsTheyAre) {
  for (const std::int64_t size : kSizes) {
    EXPECT_TRUE(same_bits(random({size}))) << size;
  }
}

// In bf16 1 + 2^-8 is the middle, which goes to the even 1; a little more does not, though it does
// when rounded to f32 on the way.
TEST_P(CudaHost, RealsAreRoundedOnce) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(same_bits(
      reals({1.0 + 0x1p-8, 1.0 + 0x1p-8 + 0x1p-40, -1.0 - 0x1p-8 - 0x1p-40, 1e-40, -0.0, infinity},
            {6})));
}

TEST_P(CudaHost, OverwritingLeavesWhatIsBeside) {
  const Twin x = random({1001});
  const std::vector<double> numbers = draw(1001);
  write_reals(cpu(), numbers, x.cpu, "test");
  write_reals(gpu(), numbers, x.gpu, "test");
  EXPECT_TRUE(same_bits(x));
  EXPECT_TRUE(guards_stand(x));
}

TEST_P(CudaHost, RealsMayGoOnceTheCallReturns) {
  for (const std::int64_t size : kSizes) {
    std::vector<double> numbers = draw(size);
    const Twin expected = reals(numbers, {size});
    keep_busy();
    const Tensor x = reals_from_host(gpu(), GetParam(), numbers, {size}, "test");
    std::fill(numbers.begin(), numbers.end(), -7.0);
    // Likely the memory that the rounded numbers were in.
    const std::vector<double> others(numbers.size(), -7.0);
    EXPECT_TRUE(same_bits({expected.cpu, x})) << size;
    EXPECT_EQ(others.back(), -7.0);
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaHost, kRealTypes, type_name);

class CudaIntegers : public testing::Test, protected test::GpuFixture {
 protected:
  CudaIntegers() : GpuFixture(DType::kF64) {}

  // They are read as the f64 of the same bits.
  std::vector<double> bits_of(const Tensor& integers) const {
    Tensor view = integers;
    view.dtype = DType::kF64;
    return read_gpu(view);
  }
};

TEST_F(CudaIntegers, MayGoOnceTheCallReturns) {
  for (const std::int64_t size : kSizes) {
    std::vector<std::int64_t> numbers;
    std::vector<double> expected;
    for (std::int64_t i = 0; i < size; ++i) {
      numbers.push_back(i * 1'000'003);
      expected.push_back(std::bit_cast<double>(numbers.back()));
    }
    device().launch({.label = "test.spin",
                     .body = [](const LaunchTarget& target) { test::spin(target, 20'000'000); }});
    const Tensor x = integers_from_host(gpu(), numbers, {size}, "test");
    std::fill(numbers.begin(), numbers.end(), -7);
    EXPECT_TRUE(test::same_bits(bits_of(x), expected)) << size;
  }
}

TEST_F(CudaIntegers, OfNoneAreNone) {
  EXPECT_EQ(integers_from_host(gpu(), {}, {0}, "test").num_elements(), 0);
}

}  // namespace
}  // namespace lockstep
