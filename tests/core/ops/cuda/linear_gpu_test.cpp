// Products on CUDA against the CPU: on random numbers near, on integers whose sums are exact in any
// order the same bits.
#include "core/base/errors.h"
#include "core/ops/linear.h"
#include "tests/core/ops/cuda/twin_parts.h"

namespace lockstep {
namespace {

using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;
using test::ulps_of_sum;

struct Sizes {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};
constexpr Sizes kSizes[] = {{1, 1, 1},
                            {1, 90, 33},
                            {7, 33, 5},
                            {130, 90, 33},
                            {33, 4097, 7},
                            {7, 128, 4097},
                            {64, 64, 64},
                            {257, 48, 130}};

std::string name_of(const Sizes& sizes) {
  return std::to_string(sizes.rows) + " rows, " + std::to_string(sizes.in) + " to " +
         std::to_string(sizes.out);
}

class CudaLinear : public test::GpuOpTest {
 protected:
  // A tensor core cuts off what lies below the largest of the products that it adds at once: unlike
  // a rounding that does not average out.
  double ulps_of_products(std::int64_t count) const {
    const double cut = GetParam() == DType::kBF16 ? static_cast<double>(count) / 8.0 : 0.0;
    return ulps_of_sum(count) + cut;
  }

  // Integers up to `largest` in size, none of them 0: the sign of a sum of zeros is not fixed.
  Twin integral(const Shape& shape, double largest) {
    std::vector<double> numbers = draw(shape.num_elements());
    for (double& number : numbers) {
      number = std::copysign(std::ceil(std::abs(number) * largest), number);
      if (number == 0.0) number = 1.0;
    }
    return reals(numbers, shape);
  }
  // Integers of which f32 holds all sums of 4097 products with `small` ones, where tf32 would cut
  // the last bit off; in bf16 all of 1000.
  Twin large(const Shape& shape) {
    return integral(shape, GetParam() == DType::kBF16 ? 127.0 : 4095.0);
  }
  Twin small(const Shape& shape) {
    return integral(shape, GetParam() == DType::kBF16 ? 31.0 : 1.0);
  }

  Twin forward(const Twin& x, const Twin& weight) const {
    return on_both([&](const OpSide& on) { return linear(on.ops, on.of(x), on.of(weight)); });
  }
  Twin backward_input(const Twin& weight, const Twin& dy) const {
    return on_both([&](const OpSide& on) {
      return linear_backward_input(on.ops, {.x = {}, .weight = on.of(weight)}, on.of(dy));
    });
  }
  Twin backward_weight(const Twin& x, const Twin& dy) const {
    return on_both([&](const OpSide& on) {
      return linear_backward_weight(on.ops, {.x = on.of(x), .weight = {}}, on.of(dy));
    });
  }
};

TEST_P(CudaLinear, IsTheCpusOnRandomInput) {
  for (const Sizes& sizes : kSizes) {
    const Twin x = random({sizes.rows, sizes.in});
    const Twin weight = random({sizes.out, sizes.in});
    const Twin dy = random({sizes.rows, sizes.out});
    EXPECT_TRUE(close(forward(x, weight), ulps_of_products(sizes.in))) << name_of(sizes);
    EXPECT_TRUE(close(backward_input(weight, dy), ulps_of_products(sizes.out))) << name_of(sizes);
    EXPECT_TRUE(close(backward_weight(x, dy), ulps_of_products(sizes.rows))) << name_of(sizes);
  }
}

TEST_P(CudaLinear, HasTheCpusBitsWhereSumsAreExactInAnyOrder) {
  for (const Sizes& sizes : kSizes) {
    const Twin x = large({sizes.rows, sizes.in});
    const Twin weight = small({sizes.out, sizes.in});
    const Twin large_dy = large({sizes.rows, sizes.out});
    const Twin small_dy = small({sizes.rows, sizes.out});
    EXPECT_TRUE(same_bits(forward(x, weight))) << name_of(sizes);
    EXPECT_TRUE(same_bits(backward_input(weight, large_dy))) << name_of(sizes);
    EXPECT_TRUE(same_bits(backward_weight(x, small_dy))) << name_of(sizes);
  }
}

TEST_P(CudaLinear, GivesTheSameBitsTwice) {
  const Twin x = random({130, 4097});
  const Twin weight = random({90, 4097});
  const auto once = [&] { return read_gpu(linear(gpu(), x.gpu, weight.gpu)); };
  EXPECT_TRUE(test::same_bits(once(), once()));
}

TEST_P(CudaLinear, NoRowsGiveNoResultAndAWeightsGradientOfZeros) {
  const Twin x = random({0, 7});
  const Twin weight = random({5, 7});
  const Twin dy = random({0, 5});
  EXPECT_EQ(read_gpu(forward(x, weight).gpu).size(), 0U);
  EXPECT_EQ(read_gpu(backward_input(weight, dy).gpu).size(), 0U);
  EXPECT_EQ(read_gpu(backward_weight(x, dy).gpu), std::vector<double>(35, 0.0));
}

// The kernel alone: its results lie between guards, at an odd offset.
TEST_P(CudaLinear, WritesAllOfItsResultAndNothingBesideIt) {
  for (const Sizes& sizes : kSizes) {
    const Twin a = large({sizes.rows, sizes.in});
    const Twin b = small({sizes.in, sizes.out});
    const Twin c = reals(std::vector<double>(static_cast<std::size_t>(sizes.rows * sizes.out), 7.0),
                         {sizes.rows, sizes.out});
    on_both([&](const OpSide& on) {
      const MatmulArgs args{.a = on.of(a).buffer(),
                            .b = on.of(b).buffer(),
                            .c = on.of(c).buffer(),
                            .m = sizes.rows,
                            .n = sizes.out,
                            .k = sizes.in};
      launch_kernel(on.ops,
                    "test.product",
                    {.reads = {args.a, args.b}, .writes = {args.c}},
                    on.ops.kernels.matmul,
                    args);
      return true;
    });
    EXPECT_TRUE(same_bits(c)) << name_of(sizes);
    EXPECT_TRUE(guards_stand(c)) << name_of(sizes);
  }
}

TEST_P(CudaLinear, ARefusedProductIsToldWithItsShapesAndTheNextOneWorks) {
  const Twin x = large({2, 3});
  const MatmulArgs args{.a = x.gpu.buffer(),
                        .b = x.gpu.buffer(),
                        .c = x.gpu.buffer(),
                        .m = -2,
                        .n = 4,
                        .k = 3,
                        .transpose_b = true};
  try {
    launch_kernel(gpu(), "test.product", {.reads = {}, .writes = {}}, gpu().kernels.matmul, args);
    ADD_FAILURE() << "a negative size was taken";
  } catch (const CudaError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("the product [-2, 3] x [4, 3]^T of ", 0), 0U)
        << error.what();
  }
  EXPECT_TRUE(same_bits(forward(x, small({5, 3}))));
}

INSTANTIATE_TEST_SUITE_P(, CudaLinear, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
