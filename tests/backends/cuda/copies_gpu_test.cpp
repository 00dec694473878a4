// Lists of copies at any alignment, and filling by a pattern: whole images are compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cuda/moves.h"
#include "tests/backends/cuda/gpu_images.h"

namespace lockstep::test {
namespace {

// A copy between two images.
struct Move {
  std::size_t to;
  std::size_t from;
  std::size_t num_bytes;
};

class CopiesOnGpu : public testing::Test {
 protected:
  void expect_copied(const std::vector<Move>& moves, std::size_t num_bytes) {
    const Image source = random_image(num_bytes, 1);
    Image wanted = random_image(num_bytes, 2);
    const Tensor from = on_gpu(device_, source, DType::kF64);
    const Tensor to = on_gpu(device_, wanted, DType::kF64);
    std::vector<backends::ByteCopy> copies;
    for (const Move& move : moves) {
      ASSERT_LE(std::max(move.to, move.from) + move.num_bytes, num_bytes) << "a wrong test";
      copies.push_back({.to = to.buffer().bytes() + move.to,
                        .from = from.buffer().bytes() + move.from,
                        .num_bytes = static_cast<std::int64_t>(move.num_bytes)});
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(move.from),
                  move.num_bytes,
                  wanted.begin() + static_cast<std::ptrdiff_t>(move.to));
    }
    backends::copy_on_gpu(copies, device_.native_stream({}));
    EXPECT_TRUE(same_elements(DType::kI64, bytes_of(device_, to.buffer()), wanted))
        << moves.size() << " copies, the first of " << moves.front().num_bytes << " bytes from "
        << moves.front().from << " to " << moves.front().to;
  }

  Gpu gpu_{0};
  CudaDevice device_{gpu_};
};

TEST_F(CopiesOnGpu, OfAnyAlignmentAndLengthTouchNothingElse) {
  for (const std::size_t to : {0U, 1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U, 17U, 24U}) {
    for (const std::size_t from : {0U, 1U, 2U, 4U, 8U, 16U, 20U}) {
      for (const std::size_t num_bytes : {1U, 2U, 7U, 15U, 16U, 17U, 255U, 4096U, 5001U}) {
        expect_copied({{.to = to, .from = from, .num_bytes = num_bytes}}, 8192);
      }
    }
  }
}

TEST_F(CopiesOnGpu, OfManyMegabytesAreWhole) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  expect_copied({{.to = 0, .from = 0, .num_bytes = kBytes}}, kBytes);
  expect_copied({{.to = 16, .from = 32, .num_bytes = kBytes - 33}}, kBytes);
  expect_copied({{.to = 3, .from = 5, .num_bytes = kBytes - 7}}, kBytes);
}

TEST_F(CopiesOnGpu, InListsOfAnyLengthAreAllMade) {
  for (const std::size_t num_copies : {1U, 7U, 8U, 9U, 64U, 65U, 1023U, 1024U, 1025U, 3000U}) {
    std::vector<Move> moves;
    std::size_t to = 0;
    for (std::size_t i = 0; i < num_copies; ++i) {
      const std::size_t num_bytes = random_bits(5, 0, i) % 400;
      to += random_bits(5, 1, i) % 40;
      moves.push_back({.to = to, .from = random_bits(5, 2, i) % 4096, .num_bytes = num_bytes});
      to += num_bytes;
    }
    expect_copied(moves, (std::max<std::size_t>(to, 8192) + 7) / 8 * 8);
  }
}

TEST_F(CopiesOnGpu, OfUnequalLengthsInOneListAreAllWhole) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  expect_copied({{.to = 0, .from = 1, .num_bytes = 3},
                 {.to = 8, .from = 16, .num_bytes = kBytes / 2},
                 {.to = kBytes / 2 + 64, .from = 0, .num_bytes = 64},
                 {.to = kBytes - 1, .from = 9, .num_bytes = 1}},
                kBytes);
}

TEST_F(CopiesOnGpu, OntoThemselvesOrOfNothingAreNone) {
  const Image before = random_image(64, 3);
  const Tensor tensor = on_gpu(device_, before, DType::kF64);
  std::byte* const memory = tensor.buffer().bytes();
  backends::copy_on_gpu({}, device_.native_stream({}));
  const std::vector<backends::ByteCopy> copies{{.to = memory, .from = memory, .num_bytes = 64},
                                               {.to = memory, .from = memory + 32, .num_bytes = 0},
                                               {.to = nullptr, .from = memory, .num_bytes = 8},
                                               {.to = memory, .from = nullptr, .num_bytes = 8}};
  backends::copy_on_gpu(copies, device_.native_stream({}));
  EXPECT_EQ(bytes_of(device_, tensor.buffer()), before);
}

TEST_F(CopiesOnGpu, BetweenHostAndGpuFollowTheStream) {
  const Image image = random_image(std::size_t{8} << 20, 4);
  const Tensor tensor = on_gpu(device_, Image(image.size()), DType::kF64);
  put_bytes(device_, tensor.buffer(), image);
  Image back(image.size());
  backends::copy_and_wait(back.data(),
                          tensor.buffer().bytes(),
                          static_cast<std::int64_t>(back.size()),
                          device_.native_stream({}));
  EXPECT_EQ(back, image);
}

TEST_F(CopiesOnGpu, AFillWritesWhatItsPatternSays) {
  constexpr std::uint64_t kBits = 0x1234567890abcdefULL;
  const backends::FillPattern patterns[] = {{.whole = 1'000'000},
                                            {.whole = 0, .stride = 64, .run = 1},
                                            {.whole = 1024, .stride = 64, .run = 1},
                                            {.whole = 1024, .stride = 64, .run = 32},
                                            {.whole = 5, .stride = 3, .run = 2}};
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kI64}) {
    const auto width = static_cast<std::size_t>(element_bytes(dtype));
    for (const std::int64_t count : {1, 2, 63, 1024, 1025, 1090, 300'001}) {
      for (const backends::FillPattern& pattern : patterns) {
        const std::int64_t held = (count + 15) / 8 * 8;
        Image wanted = random_image(static_cast<std::size_t>(held) * width, 6);
        const Tensor tensor = on_gpu(device_, wanted, dtype);
        Buffer buffer = tensor.buffer();
        buffer.offset = 3;
        buffer.count = count;
        backends::fill_on_gpu(buffer, kBits, pattern, device_.native_stream({}));
        for (std::int64_t i = 0; i < count; ++i) {
          const bool is_filled = i < pattern.whole || i == count - 1 ||
                                 (i - pattern.whole) % pattern.stride < pattern.run;
          std::byte* const element = wanted.data() + static_cast<std::size_t>(3 + i) * width;
          if (is_filled) std::memcpy(element, &kBits, width);
        }
        EXPECT_EQ(bytes_of(device_, tensor.buffer()), wanted)
            << name_of(dtype) << ", " << count << " elements, whole " << pattern.whole
            << ", stride " << pattern.stride << ", run " << pattern.run;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
