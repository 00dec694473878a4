// RMS and layer norm: fixed loops, rows and columns in order.
#include <cmath>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

template <typename T>
void rms_norm_of(const RmsNormArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  const T* const g = elements<T>(args.g_H);
  A* const inverse_rms = elements<A>(args.inverse_rms_T);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    T* const y = elements<T>(args.y_TH) + row * columns;
    A squares{0};
    for (std::int64_t i = 0; i < columns; ++i) squares += widened(x[i]) * widened(x[i]);
    const A s = A{1} / std::sqrt(squares / static_cast<A>(columns) + static_cast<A>(args.eps));
    inverse_rms[row] = s;
    for (std::int64_t i = 0; i < columns; ++i) y[i] = rounded<T>(widened(x[i]) * s * widened(g[i]));
  }
}

// With s = 1/r: dx_i = s (g_i dy_i - x_i s^2 mean_j(g_j dy_j x_j)).
template <typename T>
void rms_norm_backward_input_of(const RmsNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  const T* const g = elements<T>(args.g_H);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    const T* const dy = elements<T>(args.dy_TH) + row * columns;
    T* const dx = elements<T>(args.out) + row * columns;
    const A s = elements<A>(args.inverse_rms_T)[row];
    A dot{0};
    for (std::int64_t i = 0; i < columns; ++i) {
      dot += widened(g[i]) * widened(dy[i]) * widened(x[i]);
    }
    const A shared = s * s * dot / static_cast<A>(columns);
    for (std::int64_t i = 0; i < columns; ++i) {
      dx[i] = rounded<T>(s * (widened(g[i]) * widened(dy[i]) - widened(x[i]) * shared));
    }
  }
}

// dg_i = sum over rows of dy_i x_i s.
template <typename T>
void rms_norm_backward_weight_of(const RmsNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  Sums<T> sums(args.out);
  A* const dg = sums.data();
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    const T* const dy = elements<T>(args.dy_TH) + row * columns;
    const A s = elements<A>(args.inverse_rms_T)[row];
    for (std::int64_t i = 0; i < columns; ++i) dg[i] += widened(dy[i]) * widened(x[i]) * s;
  }
  sums.store();
}

template <typename T>
void layer_norm_of(const LayerNormArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  const T* const g = elements<T>(args.g_H);
  const T* const b = elements<T>(args.b_H);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    T* const y = elements<T>(args.y_TH) + row * columns;
    A sum{0};
    for (std::int64_t i = 0; i < columns; ++i) sum += widened(x[i]);
    const A mean = sum / static_cast<A>(columns);
    A squares{0};
    for (std::int64_t i = 0; i < columns; ++i) {
      const A centred = widened(x[i]) - mean;
      squares += centred * centred;
    }
    const A s = A{1} / std::sqrt(squares / static_cast<A>(columns) + static_cast<A>(args.eps));
    elements<A>(args.mean_T)[row] = mean;
    elements<A>(args.inverse_std_T)[row] = s;
    for (std::int64_t i = 0; i < columns; ++i) {
      y[i] = rounded<T>((widened(x[i]) - mean) * s * widened(g[i]) + widened(b[i]));
    }
  }
}

// With n = (x - mean) s: dx_i = s (g_i dy_i - mean_j(g_j dy_j) - n_i mean_j(g_j dy_j n_j)).
template <typename T>
void layer_norm_backward_input_of(const LayerNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  const T* const g = elements<T>(args.g_H);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    const T* const dy = elements<T>(args.dy_TH) + row * columns;
    T* const dx = elements<T>(args.out) + row * columns;
    const A mean = elements<A>(args.mean_T)[row];
    const A s = elements<A>(args.inverse_std_T)[row];
    A sum{0};
    A dot{0};
    for (std::int64_t i = 0; i < columns; ++i) {
      const A scaled = widened(g[i]) * widened(dy[i]);
      sum += scaled;
      dot += scaled * ((widened(x[i]) - mean) * s);
    }
    const A sum_mean = sum / static_cast<A>(columns);
    const A dot_mean = dot / static_cast<A>(columns);
    for (std::int64_t i = 0; i < columns; ++i) {
      const A normed = (widened(x[i]) - mean) * s;
      dx[i] = rounded<T>(s * (widened(g[i]) * widened(dy[i]) - sum_mean - normed * dot_mean));
    }
  }
}

// dg_i = sum over rows of dy_i (x_i - mean) s.
template <typename T>
void layer_norm_backward_weight_of(const LayerNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  Sums<T> sums(args.out);
  A* const dg = sums.data();
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    const T* const dy = elements<T>(args.dy_TH) + row * columns;
    const A mean = elements<A>(args.mean_T)[row];
    const A s = elements<A>(args.inverse_std_T)[row];
    for (std::int64_t i = 0; i < columns; ++i) {
      dg[i] += widened(dy[i]) * ((widened(x[i]) - mean) * s);
    }
  }
  sums.store();
}

}  // namespace

void rms_norm(const LaunchTarget&, const RmsNormArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { rms_norm_of<T>(args); });
}

void rms_norm_backward_input(const LaunchTarget&, const RmsNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { rms_norm_backward_input_of<T>(args); });
}

void rms_norm_backward_weight(const LaunchTarget&, const RmsNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { rms_norm_backward_weight_of<T>(args); });
}

void layer_norm(const LaunchTarget&, const LayerNormArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { layer_norm_of<T>(args); });
}

void layer_norm_backward_input(const LaunchTarget&, const LayerNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { layer_norm_backward_input_of<T>(args); });
}

void layer_norm_backward_weight(const LaunchTarget&, const LayerNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { layer_norm_backward_weight_of<T>(args); });
}

}  // namespace lockstep::cpu
