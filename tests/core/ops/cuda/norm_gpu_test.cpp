// RMS and layer norm on CUDA against the CPU. Rows are summed in another order; gradients of
// weights over up to 32 rows in the same.
#include "core/ops/norm.h"
#include "tests/core/ops/cuda/twin_parts.h"

namespace lockstep {
namespace {

using test::Both;
using test::kRealTypes;
using test::OpSide;
using test::part;
using test::Twin;
using test::type_name;
using test::ulps_of_sum;
using test::values_of;

constexpr double kEps = 1e-3;

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
};
// Warps of one row, blocks of several warps, more columns than threads; more rows than are summed
// at once.
constexpr Sizes kSizes[] = {{1, 1},
                            {1, 33},
                            {1, 4097},
                            {7, 1},
                            {7, 33},
                            {7, 90},
                            {32, 40},
                            {33, 40},
                            {130, 90},
                            {130, 256},
                            {130, 4097},
                            {5003, 8}};
constexpr std::int64_t kRowsInTheCpusOrder = 32;

std::string name_of(const Sizes& sizes) {
  return std::to_string(sizes.rows) + " rows of " + std::to_string(sizes.columns);
}

class NormTest : public test::GpuOpTest {
 protected:
  // A result of the CPU as the input of both.
  Twin given(const Tensor& cpu_result) const {
    return reals(cpu_result.dtype, values_of(cpu_result), cpu_result.shape);
  }
  // With one column there is one order.
  testing::AssertionResult close_or_same(const Twin& y, const Sizes& sizes) const {
    return sizes.columns == 1 ? same_bits(y) : close(y, ulps_of_sum(sizes.columns));
  }
  // Squares of bf16 numbers have few last bits, so that their roundings do not average out.
  testing::AssertionResult root_is_right(const Twin& inverse_T, const Sizes& sizes) const {
    const bool is_low = GetParam() == DType::kBF16;
    const double bias = is_low ? static_cast<double>(sizes.columns) / 32.0 : 0.0;
    return sizes.columns == 1 ? same_bits(inverse_T)
                              : close(inverse_T, ulps_of_sum(sizes.columns) + bias);
  }
  testing::AssertionResult sum_of_rows_is_right(const Twin& dg, const Sizes& sizes) const {
    return sizes.rows <= kRowsInTheCpusOrder ? same_bits(dg) : close(dg, ulps_of_sum(sizes.rows));
  }
};

class CudaRmsNorm : public NormTest {
 protected:
  Both<RmsNormResult> forward(const Twin& x, const Twin& g) const {
    return on_both([&](const OpSide& on) { return rms_norm(on.ops, on.of(x), on.of(g), kEps); });
  }
  // Of a forward pass on the CPU.
  Both<RmsNormSaved> saved(const Sizes& sizes) {
    const Twin x = random({sizes.rows, sizes.columns});
    const Twin g = random({sizes.columns});
    const Twin s = given(rms_norm(cpu(), x.cpu, g.cpu, kEps).inverse_rms_T);
    return on_both([&](const OpSide& on) {
      return RmsNormSaved{.x = on.of(x), .g = on.of(g), .inverse_rms_T = on.of(s)};
    });
  }
};

TEST_P(CudaRmsNorm, IsTheCpusOnRandomInput) {
  for (const Sizes& sizes : kSizes) {
    const Twin x = random({sizes.rows, sizes.columns});
    const auto results = forward(x, random({sizes.columns}));
    EXPECT_TRUE(close_or_same(part(results, &RmsNormResult::y), sizes)) << name_of(sizes);
    EXPECT_TRUE(root_is_right(part(results, &RmsNormResult::inverse_rms_T), sizes))
        << name_of(sizes);
  }
}

TEST_P(CudaRmsNorm, GradientOfTheInputIsTheCpus) {
  for (const Sizes& sizes : kSizes) {
    const auto saved_of = saved(sizes);
    const Twin dy = random({sizes.rows, sizes.columns});
    const Twin dx = on_both([&](const OpSide& on) {
      return rms_norm_backward_input(on.ops, on.of(saved_of), on.of(dy));
    });
    EXPECT_TRUE(close_or_same(dx, sizes)) << name_of(sizes);
  }
}

TEST_P(CudaRmsNorm, GradientOfTheWeightIsTheCpus) {
  for (const Sizes& sizes : kSizes) {
    const auto saved_of = saved(sizes);
    const Twin dy = random({sizes.rows, sizes.columns});
    const Twin dg = on_both([&](const OpSide& on) {
      return rms_norm_backward_weight(on.ops, on.of(saved_of), on.of(dy));
    });
    EXPECT_TRUE(sum_of_rows_is_right(dg, sizes)) << name_of(sizes);
  }
}

TEST_P(CudaRmsNorm, GivesTheSameBitsTwice) {
  const auto saved_of = saved({130, 4097});
  const Twin dy = random({130, 4097});
  const auto y = [&] { return read_gpu(rms_norm(gpu(), dy.gpu, saved_of.gpu.g, kEps).y); };
  const auto dx = [&] { return read_gpu(rms_norm_backward_input(gpu(), saved_of.gpu, dy.gpu)); };
  const auto dg = [&] { return read_gpu(rms_norm_backward_weight(gpu(), saved_of.gpu, dy.gpu)); };
  EXPECT_TRUE(test::same_bits(y(), y()));
  EXPECT_TRUE(test::same_bits(dx(), dx()));
  EXPECT_TRUE(test::same_bits(dg(), dg()));
}

TEST_P(CudaRmsNorm, NoRowsGiveAWeightsGradientOfZeros) {
  const auto saved_of = saved({0, 90});
  const Twin dy = random({0, 90});
  EXPECT_EQ(read_gpu(rms_norm_backward_input(gpu(), saved_of.gpu, dy.gpu)).size(), 0U);
  EXPECT_EQ(read_gpu(rms_norm_backward_weight(gpu(), saved_of.gpu, dy.gpu)),
            std::vector<double>(90, 0.0));
}

INSTANTIATE_TEST_SUITE_P(, CudaRmsNorm, kRealTypes, type_name);

class CudaLayerNorm : public NormTest {
 protected:
  // Of a forward pass on the CPU.
  Both<LayerNormSaved> saved(const Sizes& sizes) {
    const Twin x = random({sizes.rows, sizes.columns});
    const Twin g = random({sizes.columns});
    const LayerNormResult forward =
        layer_norm(cpu(), x.cpu, {.g = g.cpu, .b = random({sizes.columns}).cpu}, kEps);
    const Twin mean = given(forward.mean_T);
    const Twin s = given(forward.inverse_std_T);
    return on_both([&](const OpSide& on) {
      return LayerNormSaved{
          .x = on.of(x), .g = on.of(g), .mean_T = on.of(mean), .inverse_std_T = on.of(s)};
    });
  }
};

TEST_P(CudaLayerNorm, IsTheCpusOnRandomInput) {
  for (const Sizes& sizes : kSizes) {
    const Twin x = random({sizes.rows, sizes.columns});
    const Twin g = random({sizes.columns});
    const Twin b = random({sizes.columns});
    const auto results = on_both([&](const OpSide& on) {
      return layer_norm(on.ops, on.of(x), {.g = on.of(g), .b = on.of(b)}, kEps);
    });
    EXPECT_TRUE(close_or_same(part(results, &LayerNormResult::y), sizes)) << name_of(sizes);
    EXPECT_TRUE(root_is_right(part(results, &LayerNormResult::inverse_std_T), sizes))
        << name_of(sizes);
    // A mean is small beside the terms that it is summed from.
    EXPECT_TRUE(close(part(results, &LayerNormResult::mean_T),
                      ulps_of_sum(sizes.columns) * std::sqrt(static_cast<double>(sizes.columns))))
        << name_of(sizes);
  }
}

TEST_P(CudaLayerNorm, GradientOfTheInputIsTheCpus) {
  for (const Sizes& sizes : kSizes) {
    const auto saved_of = saved(sizes);
    const Twin dy = random({sizes.rows, sizes.columns});
    const Twin dx = on_both([&](const OpSide& on) {
      return layer_norm_backward_input(on.ops, on.of(saved_of), on.of(dy));
    });
    EXPECT_TRUE(close_or_same(dx, sizes)) << name_of(sizes);
  }
}

TEST_P(CudaLayerNorm, GradientOfTheWeightIsTheCpus) {
  for (const Sizes& sizes : kSizes) {
    const auto saved_of = saved(sizes);
    const Twin dy = random({sizes.rows, sizes.columns});
    const Twin dg = on_both([&](const OpSide& on) {
      return layer_norm_backward_weight(on.ops, on.of(saved_of), on.of(dy));
    });
    EXPECT_TRUE(sum_of_rows_is_right(dg, sizes)) << name_of(sizes);
  }
}

TEST_P(CudaLayerNorm, GivesTheSameBitsTwice) {
  const auto saved_of = saved({130, 4097});
  const Twin dy = random({130, 4097});
  const Tensor g = saved_of.gpu.g;
  const auto y = [&] { return read_gpu(layer_norm(gpu(), dy.gpu, {.g = g, .b = g}, kEps).y); };
  const auto dx = [&] { return read_gpu(layer_norm_backward_input(gpu(), saved_of.gpu, dy.gpu)); };
  const auto dg = [&] { return read_gpu(layer_norm_backward_weight(gpu(), saved_of.gpu, dy.gpu)); };
  EXPECT_TRUE(test::same_bits(y(), y()));
  EXPECT_TRUE(test::same_bits(dx(), dx()));
  EXPECT_TRUE(test::same_bits(dg(), dg()));
}

TEST_P(CudaLayerNorm, NoRowsGiveAWeightsGradientOfZeros) {
  const auto saved_of = saved({0, 90});
  const Twin dy = random({0, 90});
  EXPECT_EQ(read_gpu(layer_norm_backward_input(gpu(), saved_of.gpu, dy.gpu)).size(), 0U);
  EXPECT_EQ(read_gpu(layer_norm_backward_weight(gpu(), saved_of.gpu, dy.gpu)),
            std::vector<double>(90, 0.0));
}

INSTANTIATE_TEST_SUITE_P(, CudaLayerNorm, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
