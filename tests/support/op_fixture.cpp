// Tensors and numeric gradients for tests of ops.
#include "tests/support/op_fixture.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/ops/cpu/kernels.h"
#include "core/ops/host.h"

namespace lockstep::test {
namespace {

constexpr double kStep = 1e-5;

// x += step * direction, in place.
void move_along(const Tensor& x, const Tensor& direction, double step) {
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    x.data<double>()[i] += step * direction.data<double>()[i];
  }
}

}  // namespace

OpFixture::OpFixture(DType dtype, DType drawn)
    : kernels_(cpu_kernels()),
      ops_{.device = device_, .kernels = kernels_, .dtype = dtype},
      drawn_(drawn) {}

std::vector<double> OpFixture::draw(std::int64_t count) {
  ++stream_;
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = random_signed(1, stream_, static_cast<std::uint64_t>(i));
    numbers.push_back(rounded_to(drawn_, number));
  }
  return numbers;
}

Tensor OpFixture::random(const Shape& shape) { return reals(draw(shape.num_elements()), shape); }

Tensor OpFixture::random_main(const Shape& shape) {
  return reals(ops_.main_dtype(), draw(shape.num_elements()), shape);
}

Tensor OpFixture::reals(const std::vector<double>& numbers, const Shape& shape) const {
  return reals(ops_.dtype, numbers, shape);
}

Tensor OpFixture::reals(DType dtype, const std::vector<double>& numbers, const Shape& shape) const {
  return reals_from_host(ops_, dtype, numbers, shape, "test.reals");
}

Tensor OpFixture::integers(const std::vector<std::int64_t>& numbers) const {
  return integers_from_host(
      ops_, numbers, {static_cast<std::int64_t>(numbers.size())}, "test.integers");
}

double rounded_to(DType dtype, double x) {
  switch (dtype) {
    case DType::kF64:
      return x;
    case DType::kF32:
      return static_cast<double>(static_cast<float>(x));
    case DType::kBF16: {
      int exponent = 0;
      const double mantissa = std::frexp(x, &exponent);  // 8 bits of it are kept
      return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
    }
    case DType::kI64:
      break;
  }
  throw InternalError("not a type of reals");
}

double inner(const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(a.num_elements() == b.num_elements(), "inner product of unequal sizes");
  double sum = 0.0;
  for (std::int64_t i = 0; i < a.num_elements(); ++i) sum += value_at(a, i) * value_at(b, i);
  return sum;
}

std::vector<double> numeric_gradient(const Tensor& x,
                                     const Tensor& dy,
                                     const std::function<Tensor()>& f) {
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

double directional_derivative(const Tensor& x,
                              const Tensor& direction,
                              const Tensor& dy,
                              const std::function<Tensor()>& f) {
  const std::vector<double> start = values_of(x);
  move_along(x, direction, kStep);
  const double above = inner(f(), dy);
  move_along(x, direction, -2.0 * kStep);
  const double below = inner(f(), dy);
  std::copy(start.begin(), start.end(), x.data<double>());
  return (above - below) / (2.0 * kStep);
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
