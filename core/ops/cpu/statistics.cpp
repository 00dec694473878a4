// Numbers about a buffer: f64 whatever its type, summed in order.
#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {

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
