// SiLU: silu(x) = x sigmoid(x), silu'(x) = sigmoid(x) (1 + x (1 - sigmoid(x))); and gated by it.
#include <cmath>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

template <typename A>
A sigmoid(A x) {
  return A{1} / (A{1} + std::exp(-x));
}

template <typename T>
void silu_of(const UnaryArgs& args) {
  const T* const x = elements<T>(args.x);
  T* const out = elements<T>(args.out);
  for (std::int64_t i = 0; i < args.x.count; ++i) {
    const Accumulated<T> wide = widened(x[i]);
    out[i] = rounded<T>(wide * sigmoid(wide));
  }
}

template <typename T>
void silu_backward_of(const UnaryBackwardArgs& args) {
  using A = Accumulated<T>;
  const T* const x = elements<T>(args.x);
  const T* const dy = elements<T>(args.dy);
  T* const out = elements<T>(args.out);
  for (std::int64_t i = 0; i < args.x.count; ++i) {
    const A wide = widened(x[i]);
    const A s = sigmoid(wide);
    out[i] = rounded<T>(widened(dy[i]) * s * (A{1} + wide * (A{1} - s)));
  }
}

template <typename T>
void gated_silu_of(const GatedSiluArgs& args) {
  const std::int64_t width = args.width;
  for (std::int64_t row = 0; row < args.y_TF.count / width; ++row) {
    const T* const gate = elements<T>(args.x_T2F) + row * 2 * width;
    const T* const up = gate + width;
    T* const y = elements<T>(args.y_TF) + row * width;
    for (std::int64_t i = 0; i < width; ++i) {
      const Accumulated<T> wide = widened(gate[i]);
      y[i] = rounded<T>(wide * sigmoid(wide) * widened(up[i]));
    }
  }
}

template <typename T>
void gated_silu_backward_of(const GatedSiluBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t width = args.width;
  for (std::int64_t row = 0; row < args.dy_TF.count / width; ++row) {
    const T* const gate = elements<T>(args.x_T2F) + row * 2 * width;
    const T* const up = gate + width;
    const T* const dy = elements<T>(args.dy_TF) + row * width;
    T* const dgate = elements<T>(args.dx_T2F) + row * 2 * width;
    T* const dup = dgate + width;
    for (std::int64_t i = 0; i < width; ++i) {
      const A wide = widened(gate[i]);
      const A s = sigmoid(wide);
      const A d = widened(dy[i]);
      dgate[i] = rounded<T>(d * widened(up[i]) * s * (A{1} + wide * (A{1} - s)));
      dup[i] = rounded<T>(d * wide * s);
    }
  }
}

}  // namespace

void silu(const LaunchTarget&, const UnaryArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { silu_of<T>(args); });
}

void silu_backward(const LaunchTarget&, const UnaryBackwardArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { silu_backward_of<T>(args); });
}

void gated_silu(const LaunchTarget&, const GatedSiluArgs& args) {
  with_type(args.x_T2F.dtype, [&]<typename T>(ElementType<T>) { gated_silu_of<T>(args); });
}

void gated_silu_backward(const LaunchTarget&, const GatedSiluBackwardArgs& args) {
  with_type(args.x_T2F.dtype, [&]<typename T>(ElementType<T>) { gated_silu_backward_of<T>(args); });
}

}  // namespace lockstep::cpu
