// SiLU: silu(x) = x sigmoid(x), silu'(x) = sigmoid(x) (1 + x (1 - sigmoid(x))); and gated by it.
#include <cmath>

#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {
namespace {

template <typename A>
__device__ A sigmoid(A x) {
  return A{1} / (A{1} + std::exp(-x));
}

template <typename T>
void silu_of(const LaunchTarget& target, const UnaryArgs& args) {
  const T* const x = elements<T>(args.x);
  T* const out = elements<T>(args.out);
  for_each(target, args.x.count, [=] __device__(std::int64_t i) {
    const Accumulated<T> wide = widened(x[i]);
    out[i] = rounded<T>(wide * sigmoid(wide));
  });
}

template <typename T>
void silu_backward_of(const LaunchTarget& target, const UnaryBackwardArgs& args) {
  using A = Accumulated<T>;
  const T* const x = elements<T>(args.x);
  const T* const dy = elements<T>(args.dy);
  T* const out = elements<T>(args.out);
  for_each(target, args.x.count, [=] __device__(std::int64_t i) {
    const A wide = widened(x[i]);
    const A s = sigmoid(wide);
    out[i] = rounded<T>(widened(dy[i]) * s * (A{1} + wide * (A{1} - s)));
  });
}

template <typename T>
void gated_silu_of(const LaunchTarget& target, const GatedSiluArgs& args) {
  const std::int64_t width = args.width;
  const T* const x = elements<T>(args.x_T2F);
  T* const y = elements<T>(args.y_TF);
  for_each(target, args.y_TF.count, [=] __device__(std::int64_t i) {
    const T* const gate = x + (i / width * width + i);  // a row of x is two of y
    const Accumulated<T> wide = widened(gate[0]);
    y[i] = rounded<T>(wide * sigmoid(wide) * widened(gate[width]));
  });
}

template <typename T>
void gated_silu_backward_of(const LaunchTarget& target, const GatedSiluBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t width = args.width;
  const T* const x = elements<T>(args.x_T2F);
  const T* const dy = elements<T>(args.dy_TF);
  T* const dx = elements<T>(args.dx_T2F);
  for_each(target, args.dy_TF.count, [=] __device__(std::int64_t i) {
    const std::int64_t gate = i / width * width + i;
    const std::int64_t up = gate + width;
    const A wide = widened(x[gate]);
    const A s = sigmoid(wide);
    const A d = widened(dy[i]);
    dx[gate] = rounded<T>(d * widened(x[up]) * s * (A{1} + wide * (A{1} - s)));
    dx[up] = rounded<T>(d * wide * s);
  });
}

}  // namespace

void silu(const LaunchTarget& target, const UnaryArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { silu_of<T>(target, args); });
}

void silu_backward(const LaunchTarget& target, const UnaryBackwardArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { silu_backward_of<T>(target, args); });
}

void gated_silu(const LaunchTarget& target, const GatedSiluArgs& args) {
  with_type(args.x_T2F.dtype, [&]<typename T>(ElementType<T>) { gated_silu_of<T>(target, args); });
}

void gated_silu_backward(const LaunchTarget& target, const GatedSiluBackwardArgs& args) {
  with_type(args.x_T2F.dtype,
            [&]<typename T>(ElementType<T>) { gated_silu_backward_of<T>(target, args); });
}

}  // namespace lockstep::cuda
