// Between host memory and buffers, and numbers about a buffer that are f64 whatever its type.
#include <cmath>
#include <limits>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

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

void reals_from_host(const LaunchTarget&, const FromHostArgs& args) {
  const auto* const from = static_cast<const double*>(args.from);
  with_type(args.to.dtype, [&]<typename T>(ElementType<T>) {
    T* const to = elements<T>(args.to);
    for (std::int64_t i = 0; i < args.to.count; ++i) to[i] = rounded_once<T>(from[i]);
  });
}

void integers_from_host(const LaunchTarget&, const FromHostArgs& args) {
  std::copy_n(
      static_cast<const std::int64_t*>(args.from), args.to.count, elements<std::int64_t>(args.to));
}

void reals_to_host(const LaunchTarget&, const ToHostArgs& args) {
  auto* const to = static_cast<double*>(args.to);
  with_type(args.from.dtype, [&]<typename T>(ElementType<T>) {
    const T* const from = elements<T>(args.from);
    for (std::int64_t i = 0; i < args.from.count; ++i) to[i] = widened(from[i]);
  });
}

void sum_of_squares(const LaunchTarget&, const StatisticArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) {
    const T* const x = elements<T>(args.x);
    double sum = 0.0;
    for (std::int64_t i = 0; i < args.x.count; ++i) {
      const double wide = widened(x[i]);
      sum += wide * wide;
    }
    elements<double>(args.out)[0] = sum;
  });
}

void count_zeros(const LaunchTarget&, const StatisticArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) {
    const T* const x = elements<T>(args.x);
    std::int64_t zeros = 0;
    for (std::int64_t i = 0; i < args.x.count; ++i) zeros += widened(x[i]) == 0 ? 1 : 0;
    elements<double>(args.out)[0] = static_cast<double>(zeros);
  });
}

}  // namespace lockstep::cpu
