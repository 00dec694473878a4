// What a reduction does to two elements: the same on every backend that reduces on the host.
#pragma once

#include <cstdint>

#include "core/tensor/bfloat16.h"

namespace lockstep {

struct Sum {
  static constexpr double of(double a, double b) { return a + b; }
  static constexpr float of(float a, float b) { return a + b; }
  static constexpr BF16 of(BF16 a, BF16 b) { return rounded_to_bf16(widened(a) + widened(b)); }
  // Poison plus poison must not be undefined: wraps.
  static constexpr std::int64_t of(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

// NaN wins, whichever side it is on.
struct Max {
  template <typename T>
  static constexpr T of(T m, T x) {
    return (x > m || x != x) ? x : m;
  }
  static constexpr BF16 of(BF16 m, BF16 x) {
    const float wide = widened(x);
    return (wide > widened(m) || wide != wide) ? x : m;
  }
};

}  // namespace lockstep
