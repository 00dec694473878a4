// The norms and their backward.
#include "matrix/reference/norm.h"

#include <cmath>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

double mean_of(const double* x, std::int64_t size) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < size; ++j) sum += x[j];
  return sum / static_cast<double>(size);
}

// Whether a norm takes the mean away first.
bool centres(Norm kind) {
  switch (kind) {
    case Norm::kRms:
      return false;
    case Norm::kLayer:
      return true;
  }
  throw InternalError("unknown norm");
}

}  // namespace

NormResult norm(const Matrix& x_TH, const NormWeights& weights) {
  const std::int64_t hidden = x_TH.columns;
  LOCKSTEP_CHECK(static_cast<std::int64_t>(weights.weight_H.size()) == hidden,
                 "a norm of the reference has another size than its input");
  const bool centred = centres(weights.kind);
  LOCKSTEP_CHECK(centred == !weights.bias_H.empty(), "a layer norm has a bias, an RMS norm none");
  NormResult result{.y_TH = Matrix(x_TH.rows, hidden),
                    .normalised_TH = Matrix(x_TH.rows, hidden),
                    .inverse_T = std::vector<double>(static_cast<std::size_t>(x_TH.rows))};
  const double* g = weights.weight_H.data();
  for (std::int64_t t = 0; t < x_TH.rows; ++t) {
    const double* x = x_TH.row(t);
    double* n = result.normalised_TH.row(t);
    double* y = result.y_TH.row(t);
    const double mean = centred ? mean_of(x, hidden) : 0.0;
    double squares = 0.0;
    for (std::int64_t j = 0; j < hidden; ++j) squares += (x[j] - mean) * (x[j] - mean);
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(hidden) + weights.eps);
    result.inverse_T[static_cast<std::size_t>(t)] = inverse;
    for (std::int64_t j = 0; j < hidden; ++j) {
      n[j] = (x[j] - mean) * inverse;
      y[j] = n[j] * g[j];
    }
    if (!centred) continue;
    for (std::int64_t j = 0; j < hidden; ++j) y[j] += weights.bias_H[static_cast<std::size_t>(j)];
  }
  return result;
}

// With u = dy g and i = 1 / sqrt(... + eps):
// RMSNorm:   dx = i (u - n mean(u n)),             dg += dy n
// LayerNorm: dx = i (u - mean(u) - n mean(u n)),   dg += dy n,   db += dy
Matrix norm_backward(const Matrix& dy_TH,
                     const NormResult& result,
                     const NormWeights& weights,
                     const NormGradients& gradients) {
  const std::int64_t hidden = dy_TH.columns;
  const bool centred = centres(weights.kind);
  Matrix dx_TH(dy_TH.rows, hidden);
  const double* g = weights.weight_H.data();
  double* dg = gradients.weight_H.data();
  for (std::int64_t t = 0; t < dy_TH.rows; ++t) {
    const double* dy = dy_TH.row(t);
    const double* n = result.normalised_TH.row(t);
    double* dx = dx_TH.row(t);
    double along = 0.0;
    for (std::int64_t j = 0; j < hidden; ++j) {
      dx[j] = dy[j] * g[j];
      along += dx[j] * n[j];
      dg[j] += dy[j] * n[j];
    }
    along /= static_cast<double>(hidden);
    const double mean = centred ? mean_of(dx, hidden) : 0.0;
    const double inverse = result.inverse_T[static_cast<std::size_t>(t)];
    for (std::int64_t j = 0; j < hidden; ++j) dx[j] = inverse * (dx[j] - mean - n[j] * along);
    if (!centred) continue;
    for (std::int64_t j = 0; j < hidden; ++j) {
      gradients.bias_H[static_cast<std::size_t>(j)] += dy[j];
    }
  }
  return dx_TH;
}

}  // namespace lockstep::matrix
