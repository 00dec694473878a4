// A float64 matrix and the three products that a linear map needs, as plain loops.
//
// Legend: T tokens, I inputs, O outputs. A weight is [O, I], as the field stores it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::matrix {

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;  // row-major

  Matrix() = default;
  Matrix(std::int64_t num_rows, std::int64_t num_columns)
      : rows(num_rows),
        columns(num_columns),
        values(static_cast<std::size_t>(num_rows * num_columns)) {}

  double* row(std::int64_t index) { return values.data() + index * columns; }
  const double* row(std::int64_t index) const { return values.data() + index * columns; }
};

// y[T, O] = x[T, I] w[O, I]ᵀ
Matrix linear(const Matrix& x_TI, std::span<const double> w_OI, std::int64_t num_outputs);

// dx[T, I] = dy[T, O] w[O, I]
Matrix linear_input_gradient(const Matrix& dy_TO,
                             std::span<const double> w_OI,
                             std::int64_t num_inputs);

// dw[O, I] += dy[T, O]ᵀ x[T, I]
void add_linear_weight_gradient(const Matrix& dy_TO, const Matrix& x_TI, std::span<double> dw_OI);

// a += b
void add(Matrix& a, const Matrix& b);

}  // namespace lockstep::matrix
