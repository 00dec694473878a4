// A linear map, with a bias or without one.
//
// Legend: T tokens, I inputs, O outputs. A weight is [O, I], as the field stores it.
#pragma once

#include <cstdint>
#include <span>

#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

// Laid out once for all products.
class LinearWeights {
 public:
  // An empty bias: none. InternalError where the weight does not make whole rows of num_inputs.
  LinearWeights(std::span<const double> weight_OI,
                std::span<const double> bias_O,
                std::int64_t num_inputs);

  std::int64_t num_inputs() const { return weight_OI_.columns(); }
  std::int64_t num_outputs() const { return weight_OI_.rows(); }
  const Panels& rows_by_output() const { return weight_OI_; }
  const Panels& rows_by_input() const { return weight_IO_; }
  std::span<const double> bias() const { return bias_O_; }

 private:
  Panels weight_OI_;
  Panels weight_IO_;
  std::span<const double> bias_O_;
};

struct LinearGradients {
  std::span<double> weight_OI;
  std::span<double> bias_O;
};

// y[T, O] = x[T, I] w[O, I]ᵀ + b[O]
Matrix linear(const Matrix& x_TI, const LinearWeights& weights);

// Returns dx[T, I] = dy[T, O] w[O, I]; dw[O, I] += dy[T, O]ᵀ x[T, I]; db[O] += sum of dy over T.
Matrix linear_backward(const Matrix& dy_TO,
                       const Matrix& x_TI,
                       const LinearWeights& weights,
                       const LinearGradients& gradients);

}  // namespace lockstep::matrix
