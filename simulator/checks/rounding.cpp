// Written anew here: a check does not trust the core's rounding.
#include "simulator/checks/rounding.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "core/base/errors.h"

namespace lockstep::sim {
namespace {

template <typename T>
StateLimits limits_of() {
  return {.epsilon = std::numeric_limits<T>::epsilon(),
          .smallest = std::numeric_limits<T>::denorm_min()};
}

}  // namespace

double rounded_to_f32(double value) { return static_cast<double>(static_cast<float>(value)); }

double rounded_to_bf16(double value) {
  if (value != value) return value;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t kept = bits & 0xffff0000U;
  const std::uint32_t dropped = bits & 0x0000ffffU;
  constexpr std::uint32_t kHalf = 0x8000U;
  const bool is_odd = (bits & 0x00010000U) != 0;
  const bool goes_up = dropped > kHalf || (dropped == kHalf && is_odd);
  return static_cast<double>(std::bit_cast<float>(goes_up ? kept + 0x00010000U : kept));
}

double rounded_to_state(Precision precision, double value) {
  switch (precision) {
    case Precision::kF64:
      return value;
    case Precision::kF32:
    case Precision::kBF16:
      return rounded_to_f32(value);
  }
  throw InternalError("unknown precision");
}

StateLimits state_limits(Precision precision) {
  switch (precision) {
    case Precision::kF64:
      return limits_of<double>();
    case Precision::kF32:
    case Precision::kBF16:
      return limits_of<float>();
  }
  throw InternalError("unknown precision");
}

}  // namespace lockstep::sim
