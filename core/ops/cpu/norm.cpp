// RMS norm: fixed loops, rows and columns in order.
#include <cmath>

#include "core/ops/cpu/bodies.h"

namespace lockstep::cpu {

void rms_norm(const LaunchTarget&, const RmsNormArgs& args) {
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  const double* const g = elements<double>(args.g_H);
  double* const inverse_rms = elements<double>(args.inverse_rms_T);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* const x = elements<double>(args.x_TH) + row * columns;
    double* const y = elements<double>(args.y_TH) + row * columns;
    double squares = 0.0;
    for (std::int64_t i = 0; i < columns; ++i) squares += x[i] * x[i];
    inverse_rms[row] = 1.0 / std::sqrt(squares / static_cast<double>(columns) + args.eps);
    for (std::int64_t i = 0; i < columns; ++i) y[i] = x[i] * inverse_rms[row] * g[i];
  }
}

// With s = 1/r: dx_i = s (g_i dy_i - x_i s^2 mean_j(g_j dy_j x_j)).
void rms_norm_backward_input(const LaunchTarget&, const RmsNormBackwardArgs& args) {
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  const double* const g = elements<double>(args.g_H);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* const x = elements<double>(args.x_TH) + row * columns;
    const double* const dy = elements<double>(args.dy_TH) + row * columns;
    double* const dx = elements<double>(args.out) + row * columns;
    const double s = elements<double>(args.inverse_rms_T)[row];
    double dot = 0.0;
    for (std::int64_t i = 0; i < columns; ++i) dot += g[i] * dy[i] * x[i];
    const double shared = s * s * dot / static_cast<double>(columns);
    for (std::int64_t i = 0; i < columns; ++i) dx[i] = s * (g[i] * dy[i] - x[i] * shared);
  }
}

// dg_i = sum over rows of dy_i x_i s.
void rms_norm_backward_weight(const LaunchTarget&, const RmsNormBackwardArgs& args) {
  const std::int64_t columns = args.g_H.count;
  const std::int64_t rows = args.x_TH.count / columns;
  double* const dg = elements<double>(args.out);
  for (std::int64_t i = 0; i < columns; ++i) dg[i] = 0.0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* const x = elements<double>(args.x_TH) + row * columns;
    const double* const dy = elements<double>(args.dy_TH) + row * columns;
    const double s = elements<double>(args.inverse_rms_T)[row];
    for (std::int64_t i = 0; i < columns; ++i) dg[i] += dy[i] * x[i] * s;
  }
}

}  // namespace lockstep::cpu
