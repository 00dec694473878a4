// Rounding a double to an element once.
#include "core/ops/cpu/element.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep::cpu {

template <>
double rounded_once<double>(double x) {
  return x;
}

template <>
float rounded_once<float>(double x) {
  return static_cast<float>(x);
}

// Over the float that brackets x and has an odd last bit, which no second rounding mistakes for a
// tie.
template <>
BF16 rounded_once<BF16>(double x) {
  float nearest = static_cast<float>(x);
  const bool is_even = (std::bit_cast<std::uint32_t>(nearest) & 1U) == 0;
  if (x == x && static_cast<double>(nearest) != x && is_even) {
    const float infinity = std::numeric_limits<float>::infinity();
    nearest = std::nextafter(nearest, x > static_cast<double>(nearest) ? infinity : -infinity);
  }
  return rounded_to_bf16(nearest);
}

}  // namespace lockstep::cpu
