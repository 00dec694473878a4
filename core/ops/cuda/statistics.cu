// Numbers about a buffer: f64 whatever its type.
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/sum.cuh"

namespace lockstep::cuda {
namespace {

template <typename T>
void sum_of_squares_of(const LaunchTarget& target, const StatisticArgs& args) {
  const T* const x = elements<T>(args.x);
  auto* const out = elements<double>(args.out);
  store_sum<double>(
      target,
      args.x.count,
      [=] __device__(std::int64_t i) {
        const double wide = widened(x[i]);
        return wide * wide;
      },
      [=] __device__(double sum) { out[0] = sum; });
}

template <typename T>
void count_zeros_of(const LaunchTarget& target, const StatisticArgs& args) {
  const T* const x = elements<T>(args.x);
  auto* const out = elements<double>(args.out);
  store_sum<std::int64_t>(
      target,
      args.x.count,
      [=] __device__(std::int64_t i) { return std::int64_t{widened(x[i]) == 0 ? 1 : 0}; },
      [=] __device__(std::int64_t zeros) { out[0] = static_cast<double>(zeros); });
}

}  // namespace

void sum_of_squares(const LaunchTarget& target, const StatisticArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { sum_of_squares_of<T>(target, args); });
}

void count_zeros(const LaunchTarget& target, const StatisticArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { count_zeros_of<T>(target, args); });
}

}  // namespace lockstep::cuda
