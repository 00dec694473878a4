// bfloat16: the upper half of a float's bits.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

struct BF16 {
  std::uint16_t bits;
};

constexpr float widened(BF16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16U);
}

// To the nearest, ties to even; NaN stays NaN.
constexpr BF16 rounded_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
}

}  // namespace lockstep
