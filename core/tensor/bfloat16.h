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

// From a double in one rounding: over the float that brackets x and has an odd last bit, which no
// second rounding mistakes for a tie.
constexpr BF16 rounded_once_to_bf16(double x) {
  const auto nearest = static_cast<float>(x);
  const auto wide = static_cast<double>(nearest);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool is_inexact = x == x && wide != x;
  if (is_inexact && (bits & 1U) == 0) {
    const bool is_beyond = x < 0.0 ? x < wide : x > wide;  // further from zero than the float
    bits = is_beyond ? bits + 1U : bits - 1U;
  }
  return rounded_to_bf16(std::bit_cast<float>(bits));
}

}  // namespace lockstep
