// Every product adds a multiple of one contiguous row to another: no sum is reordered, and the
// compiler may work on several columns at once.
#include "matrix/reference/matrix.h"

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

void add_multiple(double factor, const double* __restrict x, double* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

std::vector<double> transposed(std::span<const double> w_OI, std::int64_t num_inputs) {
  const std::int64_t num_outputs = static_cast<std::int64_t>(w_OI.size()) / num_inputs;
  std::vector<double> w_IO(w_OI.size());
  for (std::int64_t o = 0; o < num_outputs; ++o) {
    for (std::int64_t i = 0; i < num_inputs; ++i) {
      w_IO[static_cast<std::size_t>(i * num_outputs + o)] =
          w_OI[static_cast<std::size_t>(o * num_inputs + i)];
    }
  }
  return w_IO;
}

void check_weight(std::span<const double> w, std::int64_t num_outputs, std::int64_t num_inputs) {
  LOCKSTEP_CHECK(static_cast<std::int64_t>(w.size()) == num_outputs * num_inputs,
                 "a weight of the reference has another size than its product needs");
}

}  // namespace

Matrix linear(const Matrix& x_TI, std::span<const double> w_OI, std::int64_t num_outputs) {
  check_weight(w_OI, num_outputs, x_TI.columns);
  const std::vector<double> w_IO = transposed(w_OI, x_TI.columns);
  Matrix y_TO(x_TI.rows, num_outputs);
  for (std::int64_t t = 0; t < x_TI.rows; ++t) {
    for (std::int64_t i = 0; i < x_TI.columns; ++i) {
      add_multiple(x_TI.row(t)[i], w_IO.data() + i * num_outputs, y_TO.row(t), num_outputs);
    }
  }
  return y_TO;
}

Matrix linear_input_gradient(const Matrix& dy_TO,
                             std::span<const double> w_OI,
                             std::int64_t num_inputs) {
  check_weight(w_OI, dy_TO.columns, num_inputs);
  Matrix dx_TI(dy_TO.rows, num_inputs);
  for (std::int64_t t = 0; t < dy_TO.rows; ++t) {
    for (std::int64_t o = 0; o < dy_TO.columns; ++o) {
      add_multiple(dy_TO.row(t)[o], w_OI.data() + o * num_inputs, dx_TI.row(t), num_inputs);
    }
  }
  return dx_TI;
}

void add_linear_weight_gradient(const Matrix& dy_TO, const Matrix& x_TI, std::span<double> dw_OI) {
  check_weight(dw_OI, dy_TO.columns, x_TI.columns);
  for (std::int64_t t = 0; t < dy_TO.rows; ++t) {
    for (std::int64_t o = 0; o < dy_TO.columns; ++o) {
      add_multiple(dy_TO.row(t)[o], x_TI.row(t), dw_OI.data() + o * x_TI.columns, x_TI.columns);
    }
  }
}

void add(Matrix& a, const Matrix& b) {
  LOCKSTEP_CHECK(a.values.size() == b.values.size(), "matrices of unequal size are added");
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
}

}  // namespace lockstep::matrix
