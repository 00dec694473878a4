// Copies between host memory, where reals are f64, and buffers.
#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {

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

}  // namespace lockstep::cpu
