// Tensors and numeric gradients for tests of ops.
#include "tests/support/op_fixture.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/ops/cpu/kernels.h"
#include "core/ops/host.h"

namespace lockstep::test {

OpFixture::OpFixture()
    : kernels_(cpu_kernels(DType::kF64)),
      ops_{.device = device_, .kernels = kernels_, .dtype = DType::kF64} {}

Tensor OpFixture::random(const Shape& shape) {
  ++stream_;
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    numbers.push_back(random_signed(1, stream_, static_cast<std::uint64_t>(i)));
  }
  return reals(numbers, shape);
}

Tensor OpFixture::reals(const std::vector<double>& numbers, const Shape& shape) const {
  return reals_from_host(ops_, numbers, shape, "test.reals");
}

Tensor OpFixture::integers(const std::vector<std::int64_t>& numbers) const {
  return integers_from_host(
      ops_, numbers, {static_cast<std::int64_t>(numbers.size())}, "test.integers");
}

double inner(const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(a.num_elements() == b.num_elements(), "inner product of unequal sizes");
  double sum = 0.0;
  for (std::int64_t i = 0; i < a.num_elements(); ++i)
    sum += a.data<double>()[i] * b.data<double>()[i];
  return sum;
}

std::vector<double> numeric_gradient(const Tensor& x,
                                     const Tensor& dy,
                                     const std::function<Tensor()>& f) {
  constexpr double kStep = 1e-5;
  std::vector<double> gradient;
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    double& element = x.data<double>()[i];
    const double start = element;
    element = start + kStep;
    const double above = inner(f(), dy);
    element = start - kStep;
    const double below = inner(f(), dy);
    element = start;
    gradient.push_back((above - below) / (2.0 * kStep));
  }
  return gradient;
}

double relative_error(const std::vector<double>& actual, const std::vector<double>& expected) {
  LOCKSTEP_CHECK(actual.size() == expected.size(), "comparing unequal sizes");
  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    // Written so that NaN counts as different.
    if (!(std::abs(actual[i] - expected[i]) <= difference)) {
      difference = std::abs(actual[i] - expected[i]);
    }
  }
  return difference == 0.0 ? 0.0 : difference / largest;
}

}  // namespace lockstep::test
