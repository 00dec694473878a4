// A reduction on the GPU gives the bits of the host's loops: every dtype, op, order and number of
// inputs, at any offset, in place, and with numbers that are none.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "backends/cuda/moves.h"
#include "backends/inprocess/reduce.h"
#include "core/base/errors.h"
#include "tests/backends/cuda/gpu_images.h"

namespace lockstep::test {
namespace {

constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kI64};

void put_real(DType dtype, double value, std::byte* element) {
  const auto narrow = static_cast<float>(value);
  const BF16 half = rounded_to_bf16(narrow);
  if (dtype == DType::kF64) std::memcpy(element, &value, sizeof(value));
  if (dtype == DType::kF32) std::memcpy(element, &narrow, sizeof(narrow));
  if (dtype == DType::kBF16) std::memcpy(element, &half, sizeof(half));
}

// Of many magnitudes, so that each order of summation has its own bits; integers of all bits.
Image ordinary_elements(DType dtype, std::int64_t count) {
  const auto width = static_cast<std::size_t>(element_bytes(dtype));
  Image image = random_image(static_cast<std::size_t>(count) * width, 1);
  for (std::size_t i = 0; dtype != DType::kI64 && i * width < image.size(); ++i) {
    const int exponent = static_cast<int>(random_bits(2, 0, i) % 16) - 8;
    put_real(dtype, std::ldexp(random_signed(2, 1, i), exponent), image.data() + i * width);
  }
  return image;
}

// Each element drawn from those whose sums and maxima are easily got wrong.
Image special_elements(DType dtype, std::int64_t count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double kValues[] = {0.0,
                            -0.0,
                            kInfinity,
                            -kInfinity,
                            std::nan(""),
                            1.0,
                            -1.0,
                            3e38,
                            -3e38,
                            1e-310,
                            -1e-310,
                            1e-40,
                            -1e-40,
                            1e-45,
                            1e308,
                            -1e308};
  const auto width = static_cast<std::size_t>(element_bytes(dtype));
  Image image(static_cast<std::size_t>(count) * width);
  for (std::size_t i = 0; i * width < image.size(); ++i) {
    put_real(dtype, kValues[random_bits(3, 0, i) % std::size(kValues)], image.data() + i * width);
  }
  return image;
}

struct Sizes {
  std::size_t num_inputs = 1;
  std::size_t num_outputs = 1;
  std::int64_t count = 1;
  std::int64_t first = 0;
};

std::string to_text(const backends::GpuReduction& reduction, const Sizes& sizes) {
  return std::string(name_of(reduction.dtype)) + " " + std::string(name_of(reduction.op)) +
         (reduction.tree ? " in a tree" : " in line") + ", " + std::to_string(sizes.num_inputs) +
         " inputs, " + std::to_string(sizes.num_outputs) + " outputs, " +
         std::to_string(sizes.count) + " elements from " + std::to_string(sizes.first);
}

// Where each input and output starts, in elements: apart from each other and at odd places.
std::vector<std::int64_t> places(std::size_t num, std::int64_t size) {
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < num; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    starts.push_back(at * (size + 8) + at % 5);
  }
  return starts;
}

template <typename Byte>
std::vector<Byte*> pointers(Byte* base, const std::vector<std::int64_t>& starts, DType dtype) {
  std::vector<Byte*> all;
  for (const std::int64_t start : starts) all.push_back(base + start * element_bytes(dtype));
  return all;
}

class ReduceOnGpu : public testing::Test {
 protected:
  // Of inputs and outputs in two images; those of the outputs are compared whole.
  void expect_as_on_host(const backends::GpuReduction& reduction,
                         const Sizes& sizes,
                         const Image& inputs) {
    const DType dtype = reduction.dtype;
    const auto from = places(sizes.num_inputs, sizes.first + sizes.count);
    const auto to = places(sizes.num_outputs, sizes.count);
    const auto num_out = static_cast<std::size_t>(to.back() + sizes.count + 8);
    Image wanted = random_image(num_out * static_cast<std::size_t>(element_bytes(dtype)), 4);
    const Tensor gpu_inputs = on_gpu(device_, inputs, dtype);
    const Tensor gpu_outputs = on_gpu(device_, wanted, dtype);
    const std::byte* const gpu_from = gpu_inputs.buffer().bytes();
    backends::reduce_on_gpu(reduction,
                            pointers(gpu_from, from, dtype),
                            sizes.first,
                            sizes.count,
                            pointers(gpu_outputs.buffer().bytes(), to, dtype),
                            device_.native_stream({}));
    backends::reduce({.dtype = dtype, .op = reduction.op, .tree = reduction.tree},
                     pointers(inputs.data(), from, dtype),
                     sizes.first,
                     sizes.count,
                     pointers(wanted.data(), to, dtype));
    EXPECT_TRUE(same_elements(dtype, bytes_of(device_, gpu_outputs.buffer()), wanted))
        << to_text(reduction, sizes);
  }

  static std::int64_t num_input_elements(const Sizes& sizes) {
    return places(sizes.num_inputs, sizes.first + sizes.count).back() + sizes.first + sizes.count;
  }

  void expect_all_orders(DType dtype, const Sizes& sizes, const Image& inputs) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
      for (const bool tree : {false, true}) {
        expect_as_on_host({.dtype = dtype, .op = op, .tree = tree}, sizes, inputs);
      }
    }
  }

  Gpu gpu_{0};
  CudaDevice device_{gpu_};
};

TEST_F(ReduceOnGpu, HasTheHostsBitsForAnyNumberOfInputs) {
  for (const DType dtype : kDTypes) {
    for (const std::size_t num_inputs :
         {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 13U, 16U, 31U, 64U, 65U, 100U, 1023U, 1024U}) {
      const Sizes sizes{.num_inputs = num_inputs, .num_outputs = 1, .count = 300};
      expect_all_orders(dtype, sizes, ordinary_elements(dtype, num_input_elements(sizes)));
    }
  }
}

TEST_F(ReduceOnGpu, HasTheHostsBitsForAnyCountAndFirstElement) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t count : {1, 2, 31, 255, 256, 257, 1'200'000}) {
      for (const std::int64_t first : {0, 1, 7}) {
        const Sizes sizes{.num_inputs = 3, .num_outputs = 2, .count = count, .first = first};
        expect_all_orders(dtype, sizes, ordinary_elements(dtype, num_input_elements(sizes)));
      }
    }
  }
}

TEST_F(ReduceOnGpu, WritesEveryOutput) {
  for (const DType dtype : kDTypes) {
    for (const std::size_t num_outputs : {2U, 8U, 9U, 64U, 65U, 1024U}) {
      const Sizes sizes{.num_inputs = 2, .num_outputs = num_outputs, .count = 100, .first = 1};
      expect_all_orders(dtype, sizes, ordinary_elements(dtype, num_input_elements(sizes)));
    }
  }
}

TEST_F(ReduceOnGpu, OfSpecialNumbersIsThatOfTheHost) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    for (const std::size_t num_inputs : {2U, 3U, 5U}) {
      const Sizes sizes{.num_inputs = num_inputs, .num_outputs = 1, .count = 20'000};
      expect_all_orders(dtype, sizes, special_elements(dtype, num_input_elements(sizes)));
    }
  }
}

TEST_F(ReduceOnGpu, InPlaceReadsAllBeforeItWrites) {
  constexpr std::int64_t kCount = 100'000;
  for (const DType dtype : kDTypes) {
    const auto starts = places(3, kCount);
    Image wanted = ordinary_elements(dtype, starts.back() + kCount);
    const Tensor found = on_gpu(device_, wanted, dtype);
    const auto on_it = pointers(found.buffer().bytes(), starts, dtype);
    const std::vector<const std::byte*> gpu_inputs(on_it.begin(), on_it.end());
    backends::reduce_on_gpu(
        {.dtype = dtype}, gpu_inputs, 0, kCount, on_it, device_.native_stream({}));
    const auto here = pointers(wanted.data(), starts, dtype);
    const std::vector<const std::byte*> inputs(here.begin(), here.end());
    backends::reduce({.dtype = dtype}, inputs, 0, kCount, here);
    EXPECT_TRUE(same_elements(dtype, bytes_of(device_, found.buffer()), wanted)) << name_of(dtype);
  }
}

TEST_F(ReduceOnGpu, OfNothingWritesNothing) {
  const Image before = ordinary_elements(DType::kF64, 4);
  const Tensor tensor = on_gpu(device_, before, DType::kF64);
  std::byte* const memory = tensor.buffer().bytes();
  const std::vector<const std::byte*> inputs{memory, memory + 8};
  const std::vector<std::byte*> outputs{memory + 16};
  backends::reduce_on_gpu({}, inputs, 0, 0, outputs, device_.native_stream({}));
  backends::reduce_on_gpu({}, inputs, 0, 1, {}, device_.native_stream({}));
  EXPECT_EQ(bytes_of(device_, tensor.buffer()), before);
}

TEST_F(ReduceOnGpu, OverMoreRanksThanPointersFitIsRefused) {
  const Tensor tensor = on_gpu(device_, ordinary_elements(DType::kF64, 1), DType::kF64);
  const std::vector<const std::byte*> inputs(1025, tensor.buffer().bytes());
  const std::vector<std::byte*> outputs(1, tensor.buffer().bytes());
  try {
    backends::reduce_on_gpu({}, inputs, 0, 1, outputs, device_.native_stream({}));
    ADD_FAILURE() << "was not refused";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "a reduction over 1025 ranks: on a GPU it takes 1024 at most");
  }
}

}  // namespace
}  // namespace lockstep::test
