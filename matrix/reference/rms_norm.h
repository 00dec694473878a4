// RMSNorm: y = x / sqrt(mean(x^2) + eps) * g, row by row.
#pragma once

#include <span>
#include <vector>

#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

struct RmsNormResult {
  Matrix y_TH;
  std::vector<double> inverse_rms_T;  // 1 / sqrt(mean(x^2) + eps)
};

RmsNormResult rms_norm(const Matrix& x_TH, std::span<const double> gain_H, double eps);

// Returns dx and adds to the gain's gradient.
Matrix rms_norm_backward(const Matrix& dy_TH,
                         const Matrix& x_TH,
                         std::span<const double> gain_H,
                         const std::vector<double>& inverse_rms_T,
                         std::span<double> gain_gradient_H);

}  // namespace lockstep::matrix
