// Elementwise kernels, copies and the optimizer's update.
#include <algorithm>

#include "core/ops/cpu/bodies.h"

namespace lockstep::cpu {

void weighted_sum(const LaunchTarget&, const WeightedSumArgs& args) {
  const double* const x = elements<double>(args.x);
  const double* const weight = elements<double>(args.weight);
  double sum = 0.0;
  for (std::int64_t i = 0; i < args.x.count; ++i) sum += weight[i] * x[i];
  elements<double>(args.out)[0] = sum;
}

void fill(const LaunchTarget&, const FillArgs& args) {
  std::fill_n(elements<double>(args.out), args.out.count, args.value);
}

void add(const LaunchTarget&, const AddArgs& args) {
  const double* const a = elements<double>(args.a);
  const double* const b = elements<double>(args.b);
  double* const out = elements<double>(args.out);
  for (std::int64_t i = 0; i < args.out.count; ++i) out[i] = a[i] + b[i];
}

void accumulate(const LaunchTarget&, const AccumulateArgs& args) {
  const double* const x = elements<double>(args.x);
  double* const out = elements<double>(args.out);
  for (std::int64_t i = 0; i < args.out.count; ++i) out[i] += x[i];
}

void scale(const LaunchTarget&, const ScaleArgs& args) {
  const double* const x = elements<double>(args.x);
  double* const out = elements<double>(args.out);
  for (std::int64_t i = 0; i < args.out.count; ++i) out[i] = x[i] * args.factor;
}

void scale_by(const LaunchTarget&, const ScaleByArgs& args) {
  const double* const x = elements<double>(args.x);
  const double factor = elements<double>(args.factor)[0];
  double* const out = elements<double>(args.out);
  for (std::int64_t i = 0; i < args.out.count; ++i) out[i] = x[i] * factor;
}

void copy_columns(const LaunchTarget&, const CopyColumnsArgs& args) {
  for (std::int64_t row = 0; row < args.rows; ++row) {
    std::copy_n(elements<double>(args.from) + row * args.from_stride + args.from_first,
                args.width,
                elements<double>(args.to) + row * args.to_stride + args.to_first);
  }
}

void reals_from_host(const LaunchTarget&, const FromHostArgs& args) {
  std::copy_n(static_cast<const double*>(args.from), args.to.count, elements<double>(args.to));
}

void integers_from_host(const LaunchTarget&, const FromHostArgs& args) {
  std::copy_n(
      static_cast<const std::int64_t*>(args.from), args.to.count, elements<std::int64_t>(args.to));
}

void reals_to_host(const LaunchTarget&, const ToHostArgs& args) {
  std::copy_n(elements<double>(args.from), args.from.count, static_cast<double*>(args.to));
}

void sgd(const LaunchTarget&, const SgdArgs& args) {
  double* const parameter = elements<double>(args.parameter);
  const double* const gradient = elements<double>(args.gradient);
  for (std::int64_t i = 0; i < args.parameter.count; ++i) parameter[i] -= args.lr * gradient[i];
}

}  // namespace lockstep::cpu
