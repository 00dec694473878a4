// RMSNorm and its backward.
#include "matrix/reference/rms_norm.h"

#include <cmath>

namespace lockstep::matrix {

RmsNormResult rms_norm(const Matrix& x_TH, std::span<const double> gain_H, double eps) {
  RmsNormResult result{.y_TH = Matrix(x_TH.rows, x_TH.columns), .inverse_rms_T = {}};
  result.inverse_rms_T.reserve(static_cast<std::size_t>(x_TH.rows));
  for (std::int64_t t = 0; t < x_TH.rows; ++t) {
    const double* x = x_TH.row(t);
    double squares = 0.0;
    for (std::int64_t j = 0; j < x_TH.columns; ++j) squares += x[j] * x[j];
    const double inverse_rms = 1.0 / std::sqrt(squares / static_cast<double>(x_TH.columns) + eps);
    double* y = result.y_TH.row(t);
    for (std::int64_t j = 0; j < x_TH.columns; ++j) {
      y[j] = x[j] * inverse_rms * gain_H[static_cast<std::size_t>(j)];
    }
    result.inverse_rms_T.push_back(inverse_rms);
  }
  return result;
}

// With r = 1 / sqrt(mean(x^2) + eps) and u = dy g:  dx = r u - x r^3 sum(u x) / H,  dg += dy x r.
Matrix rms_norm_backward(const Matrix& dy_TH,
                         const Matrix& x_TH,
                         std::span<const double> gain_H,
                         const std::vector<double>& inverse_rms_T,
                         std::span<double> gain_gradient_H) {
  Matrix dx_TH(x_TH.rows, x_TH.columns);
  for (std::int64_t t = 0; t < x_TH.rows; ++t) {
    const double* x = x_TH.row(t);
    const double* dy = dy_TH.row(t);
    const double r = inverse_rms_T[static_cast<std::size_t>(t)];
    double dot = 0.0;
    for (std::int64_t j = 0; j < x_TH.columns; ++j) {
      dot += dy[j] * gain_H[static_cast<std::size_t>(j)] * x[j];
    }
    const double pull = r * r * r * dot / static_cast<double>(x_TH.columns);
    double* dx = dx_TH.row(t);
    for (std::int64_t j = 0; j < x_TH.columns; ++j) {
      dx[j] = r * dy[j] * gain_H[static_cast<std::size_t>(j)] - x[j] * pull;
      gain_gradient_H[static_cast<std::size_t>(j)] += dy[j] * x[j] * r;
    }
  }
  return dx_TH;
}

}  // namespace lockstep::matrix
