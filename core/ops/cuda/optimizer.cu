// Updates of a master of the accumulation type, and of the parameter that follows it.
#include <cmath>

#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {
namespace {

template <typename T>
void sgd_of(const LaunchTarget& target, const SgdArgs& args) {
  using A = Accumulated<T>;
  const A* const gradient = elements<A>(args.gradient);
  A* const master = elements<A>(args.master);
  T* const parameter = elements<T>(args.parameter);
  const A lr = static_cast<A>(args.lr);
  const A weight_decay = static_cast<A>(args.weight_decay);
  for_each(target, args.parameter.count, [=] __device__(std::int64_t i) {
    const A p = master[i];
    const A updated = p - lr * (gradient[i] + weight_decay * p);
    master[i] = updated;
    parameter[i] = rounded<T>(updated);
  });
}

template <typename T>
void adamw_of(const LaunchTarget& target, const AdamwArgs& args) {
  using A = Accumulated<T>;
  const A* const gradient = elements<A>(args.gradient);
  A* const master = elements<A>(args.master);
  A* const exp_avg = elements<A>(args.exp_avg);
  A* const exp_avg_sq = elements<A>(args.exp_avg_sq);
  T* const parameter = elements<T>(args.parameter);
  const A lr = static_cast<A>(args.lr);
  const A beta1 = static_cast<A>(args.beta1);
  const A beta2 = static_cast<A>(args.beta2);
  const A rest1 = static_cast<A>(1.0 - args.beta1);
  const A rest2 = static_cast<A>(1.0 - args.beta2);
  const A correction1 = static_cast<A>(args.correction1);
  const A correction2 = static_cast<A>(args.correction2);
  const A eps = static_cast<A>(args.eps);
  const A weight_decay = static_cast<A>(args.weight_decay);
  for_each(target, args.parameter.count, [=] __device__(std::int64_t i) {
    const A g = gradient[i];
    const A m = beta1 * exp_avg[i] + rest1 * g;
    const A v = beta2 * exp_avg_sq[i] + rest2 * g * g;
    const A p = master[i];
    const A direction = m / correction1 / (std::sqrt(v / correction2) + eps);
    const A updated = p - lr * (direction + weight_decay * p);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    master[i] = updated;
    parameter[i] = rounded<T>(updated);
  });
}

}  // namespace

void sgd(const LaunchTarget& target, const SgdArgs& args) {
  with_type(args.parameter.dtype, [&]<typename T>(ElementType<T>) { sgd_of<T>(target, args); });
}

void adamw(const LaunchTarget& target, const AdamwArgs& args) {
  with_type(args.parameter.dtype, [&]<typename T>(ElementType<T>) { adamw_of<T>(target, args); });
}

}  // namespace lockstep::cuda
