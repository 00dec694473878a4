// MLP forward and backward.
#include "matrix/reference/mlp.h"

#include <cmath>

namespace lockstep::matrix {
namespace {

double sigmoid(double a) { return 1.0 / (1.0 + std::exp(-a)); }

Matrix silu(const Matrix& a) {
  Matrix z(a.rows, a.columns);
  for (std::size_t i = 0; i < a.values.size(); ++i)
    z.values[i] = a.values[i] * sigmoid(a.values[i]);
  return z;
}

// silu'(a) = s + a s (1 - s) with s = sigmoid(a)
void multiply_by_silu_slope(Matrix& gradient, const Matrix& a) {
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double s = sigmoid(a.values[i]);
    gradient.values[i] *= s + a.values[i] * s * (1.0 - s);
  }
}

}  // namespace

MlpSaved mlp(Matrix& x_TH, const MlpWeights& weights, double eps) {
  const std::int64_t hidden = x_TH.columns;
  const std::int64_t ffn = static_cast<std::int64_t>(weights.fc1_FH.size()) / hidden;
  MlpSaved saved;
  saved.x_TH = x_TH;
  saved.norm = rms_norm(x_TH, weights.norm_H, eps);
  saved.a_TF = linear(saved.norm.y_TH, weights.fc1_FH, ffn);
  saved.z_TF = silu(saved.a_TF);
  add(x_TH, linear(saved.z_TF, weights.fc2_HF, hidden));
  return saved;
}

void mlp_backward(Matrix& dx_TH,
                  const MlpSaved& saved,
                  const MlpWeights& weights,
                  const MlpGradients& gradients) {
  add_linear_weight_gradient(dx_TH, saved.z_TF, gradients.fc2_HF);
  Matrix da_TF = linear_input_gradient(dx_TH, weights.fc2_HF, saved.z_TF.columns);
  multiply_by_silu_slope(da_TF, saved.a_TF);
  add_linear_weight_gradient(da_TF, saved.norm.y_TH, gradients.fc1_FH);
  const Matrix dy_TH = linear_input_gradient(da_TF, weights.fc1_FH, dx_TH.columns);
  // The residual branch keeps dx as it is.
  add(dx_TH,
      rms_norm_backward(
          dy_TH, saved.x_TH, weights.norm_H, saved.norm.inverse_rms_T, gradients.norm_H));
}

}  // namespace lockstep::matrix
