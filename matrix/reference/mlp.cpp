// MLP forward and backward.
#include "matrix/reference/mlp.h"

#include <cmath>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

// Of the first num_columns of each row.
Matrix sigmoid(const Matrix& a, std::int64_t num_columns) {
  Matrix result(a.rows, num_columns);
  for (std::int64_t t = 0; t < a.rows; ++t) {
    for (std::int64_t f = 0; f < num_columns; ++f) {
      result.row(t)[f] = 1.0 / (1.0 + std::exp(-a.row(t)[f]));
    }
  }
  return result;
}

bool is_gated(Mlp kind) {
  switch (kind) {
    case Mlp::kGated:
      return true;
    case Mlp::kPlain:
      return false;
  }
  throw InternalError("unknown kind of MLP");
}

// z = a s, times up in a gated one; s = sigmoid(a) of the gate
Matrix activation(bool gated, const Matrix& a, const Matrix& sigmoid_TF) {
  const std::int64_t ffn = sigmoid_TF.columns;
  Matrix z_TF(a.rows, ffn);
  for (std::int64_t t = 0; t < a.rows; ++t) {
    const double* gate = a.row(t);
    const double* s = sigmoid_TF.row(t);
    double* z = z_TF.row(t);
    for (std::int64_t f = 0; f < ffn; ++f) z[f] = gate[f] * s[f];
    if (!gated) continue;
    for (std::int64_t f = 0; f < ffn; ++f) z[f] *= gate[ffn + f];
  }
  return z_TF;
}

// silu'(a) = s + a s (1 - s);  dgate = dz up silu'(gate),  dup = dz silu(gate)
Matrix activation_backward(bool gated, const Matrix& dz_TF, const MlpSaved& saved) {
  const std::int64_t ffn = dz_TF.columns;
  Matrix da(saved.a.rows, saved.a.columns);
  for (std::int64_t t = 0; t < da.rows; ++t) {
    const double* gate = saved.a.row(t);
    const double* s = saved.sigmoid_TF.row(t);
    const double* dz = dz_TF.row(t);
    double* dgate = da.row(t);
    for (std::int64_t f = 0; f < ffn; ++f)
      dgate[f] = dz[f] * (s[f] + gate[f] * s[f] * (1.0 - s[f]));
    if (!gated) continue;
    for (std::int64_t f = 0; f < ffn; ++f) {
      dgate[f] *= gate[ffn + f];
      dgate[ffn + f] = dz[f] * gate[f] * s[f];
    }
  }
  return da;
}

}  // namespace

MlpSaved mlp(Matrix& x_TH, const MlpWeights& weights, Pass& pass) {
  MlpSaved saved;
  saved.norm = norm(x_TH, weights.norm);
  saved.a = linear(saved.norm.y_TH, weights.fc1);
  saved.sigmoid_TF = sigmoid(saved.a, weights.fc2.num_inputs());
  saved.z_TF = activation(is_gated(weights.kind), saved.a, saved.sigmoid_TF);
  pass.trace.record(weights.prefix + "activation_func", saved.z_TF);
  Matrix out_TH = linear(saved.z_TF, weights.fc2);
  pass.trace.record(weights.prefix + "linear_fc2", out_TH);
  pass.drop(weights.prefix + "linear_fc2", out_TH);
  add(x_TH, out_TH);
  return saved;
}

void mlp_backward(Matrix& dx_TH,
                  const MlpSaved& saved,
                  const MlpWeights& weights,
                  const Pass& pass,
                  const MlpGradients& gradients) {
  Matrix dout_TH = dx_TH;
  pass.drop(weights.prefix + "linear_fc2", dout_TH);
  const Matrix dz_TF = linear_backward(dout_TH, saved.z_TF, weights.fc2, gradients.fc2);
  const Matrix da = activation_backward(is_gated(weights.kind), dz_TF, saved);
  const Matrix dy_TH = linear_backward(da, saved.norm.y_TH, weights.fc1, gradients.fc1);
  // The residual branch keeps dx as it is.
  add(dx_TH, norm_backward(dy_TH, saved.norm, weights.norm, gradients.norm));
}

}  // namespace lockstep::matrix
