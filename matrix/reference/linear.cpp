// A linear map and its backward as three products.
#include "matrix/reference/linear.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep::matrix {

LinearWeights::LinearWeights(std::span<const double> weight_OI,
                             std::span<const double> bias_O,
                             std::int64_t num_inputs)
    : weight_OI_(view(weight_OI, num_inputs)),
      weight_IO_(transposed(view(weight_OI, num_inputs))),
      bias_O_(bias_O) {
  LOCKSTEP_CHECK(bias_O.empty() || static_cast<std::int64_t>(bias_O.size()) == num_outputs(),
                 "a bias of the reference has another size than its output");
}

Matrix linear(const Matrix& x_TI, const LinearWeights& weights) {
  Matrix y_TO(x_TI.rows, weights.num_outputs());
  if (!weights.bias().empty()) {
    for (std::int64_t t = 0; t < y_TO.rows; ++t) {
      std::copy(weights.bias().begin(), weights.bias().end(), y_TO.row(t));
    }
  }
  add_product(view(x_TI),
              weights.rows_by_input(),
              {.values = y_TO.values.data(), .row_stride = y_TO.columns});
  return y_TO;
}

Matrix linear_backward(const Matrix& dy_TO,
                       const Matrix& x_TI,
                       const LinearWeights& weights,
                       const LinearGradients& gradients) {
  add_product(transposed(view(dy_TO)),
              Panels(view(x_TI)),
              {.values = gradients.weight_OI.data(), .row_stride = x_TI.columns});
  if (!gradients.bias_O.empty()) {
    for (std::int64_t t = 0; t < dy_TO.rows; ++t) {
      const double* dy = dy_TO.row(t);
      for (std::size_t o = 0; o < gradients.bias_O.size(); ++o) gradients.bias_O[o] += dy[o];
    }
  }
  Matrix dx_TI(x_TI.rows, x_TI.columns);
  add_product(view(dy_TO),
              weights.rows_by_output(),
              {.values = dx_TI.values.data(), .row_stride = dx_TI.columns});
  return dx_TI;
}

}  // namespace lockstep::matrix
