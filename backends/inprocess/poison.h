// What an output holds from its submit to its delivery: no sum of such elements looks like a
// result.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "backends/cuda/moves.h"

namespace lockstep::backends {

// Quiet NaN, and a huge negative integer: in the low bytes.
constexpr std::uint64_t poison_bits(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
    case DType::kF32:
      return std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
    case DType::kBF16:
      return 0x7fc0;
    case DType::kI64:
      return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min() / 2);
  }
  return 0;
}

// A whole small buffer. Of a larger one what stands at each 64th element: every view of a parameter
// starts at a multiple of 64, and filling all would cost as much as the collective. There a line of
// the cache at a time, where it is larger than the caches: each line would be fetched otherwise.
inline FillPattern poison_pattern(const Buffer& buffer) {
  constexpr std::int64_t kFilledWhole = 1024;
  constexpr std::int64_t kLargeBytes = std::int64_t{1} << 20;
  constexpr std::int64_t kLineBytes = 64;
  return {.whole = std::min(buffer.count, kFilledWhole),
          .stride = 64,
          .run = buffer.num_bytes() < kLargeBytes ? 1 : kLineBytes / element_bytes(buffer.dtype)};
}

}  // namespace lockstep::backends
