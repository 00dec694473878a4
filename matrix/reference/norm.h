// RMSNorm and LayerNorm, row by row.
//
// RMSNorm:   n = x / sqrt(mean(x^2) + eps),                y = n g
// LayerNorm: n = (x - mean(x)) / sqrt(var(x) + eps),       y = n g + b
#pragma once

#include <span>
#include <vector>

#include "core/config/case.h"
#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

struct NormWeights {
  Norm kind = Norm::kRms;
  double eps = 0.0;
  std::span<const double> weight_H;
  std::span<const double> bias_H;  // of a layer norm
};

struct NormGradients {
  std::span<double> weight_H;
  std::span<double> bias_H;
};

struct NormResult {
  Matrix y_TH;
  // What the backward reads again.
  Matrix normalised_TH;           // n
  std::vector<double> inverse_T;  // 1 / sqrt(... + eps)
};

NormResult norm(const Matrix& x_TH, const NormWeights& weights);

// Returns dx and adds to the weights' gradients.
Matrix norm_backward(const Matrix& dy_TH,
                     const NormResult& result,
                     const NormWeights& weights,
                     const NormGradients& gradients);

}  // namespace lockstep::matrix
