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
  OpFixture();

  // Multiples of 2^-52 in [-1, 1), other numbers at each call.
  Tensor random(const Shape& shape);
  Tensor reals(const std::vector<double>& values, const Shape& shape) const;
  Tensor integers(const std::vector<std::int64_t>& values) const;

  const OpContext& ops() const { return ops_; }

 private:
  CpuDevice device_;
  KernelTable kernels_;
  OpContext ops_;
  std::uint64_t stream_ = 0;
};

// Sum of products, <a, b>.
double inner(const Tensor& a, const Tensor& b);

// d/dx <f(x), dy> by central differences, element by element; `x` is restored.
std::vector<double> numeric_gradient(const Tensor& x,
                                     const Tensor& dy,
                                     const std::function<Tensor()>& f);

// Largest difference relative to the largest value of `expected`.
double relative_error(const std::vector<double>& actual, const std::vector<double>& expected);

}  // namespace lockstep::test
