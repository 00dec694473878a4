// What tests of ops share: a CPU device with its kernels, random tensors, and inner products.
#pragma once

#include <functional>
#include <vector>

#include "core/ops/context.h"
#include "core/tensor/cpu_device.h"
#include "tests/support/tensor_values.h"

namespace lockstep::test {

class OpFixture {
 public:
  // A device that computes in `dtype`; random numbers are rounded to `drawn`, so that devices of
  // two types can be given the same ones.
  explicit OpFixture(DType dtype = DType::kF64, DType drawn = DType::kF64);

  // In [-1, 1], other numbers at each call: of the context's type, or of its accumulation type.
  Tensor random(const Shape& shape);
  Tensor random_main(const Shape& shape);
  Tensor reals(const std::vector<double>& values, const Shape& shape) const;
  Tensor reals(DType dtype, const std::vector<double>& values, const Shape& shape) const;
  Tensor integers(const std::vector<std::int64_t>& values) const;

  const OpContext& ops() const { return ops_; }

 private:
  std::vector<double> draw(std::int64_t count);

  CpuDevice device_;
  KernelTable kernels_;
  OpContext ops_;
  DType drawn_;
  std::uint64_t stream_ = 0;
};

// To the nearest value of a type, ties to even, by arithmetic alone.
double rounded_to(DType dtype, double x);

// Sum of products, <a, b>.
double inner(const Tensor& a, const Tensor& b);

// d/dx <f(x), dy> by central differences, element by element; `x` is f64 and restored.
std::vector<double> numeric_gradient(const Tensor& x,
                                     const Tensor& dy,
                                     const std::function<Tensor()>& f);
// <J d, dy> of the Jacobian J of f at x, by a central difference along d alone.
double directional_derivative(const Tensor& x,
                              const Tensor& direction,
                              const Tensor& dy,
                              const std::function<Tensor()>& f);

// Largest difference relative to the largest value of `expected`.
double relative_error(const std::vector<double>& actual, const std::vector<double>& expected);

}  // namespace lockstep::test
