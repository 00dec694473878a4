// The same numbers on a CPU and a GPU, and comparisons that name the first difference.
#include "tests/core/ops/cuda/gpu_fixture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/base/random.h"
#include "core/ops/cuda/kernels.h"
#include "core/ops/host.h"

namespace lockstep::test {
namespace {

// Odd, so that what follows is no multiple of what a vector load needs.
constexpr std::int64_t kGuardsBefore = 3;
constexpr std::int64_t kGuardsAfter = 5;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kNoInteger = std::numeric_limits<std::int64_t>::min();

template <typename T>
std::vector<T> with_guards(const std::vector<T>& values, T guard) {
  std::vector<T> all(kGuardsBefore, guard);
  all.insert(all.end(), values.begin(), values.end());
  all.insert(all.end(), kGuardsAfter, guard);
  return all;
}

Shape shape_of(std::size_t count) { return {static_cast<std::int64_t>(count)}; }

Tensor between_guards(const Tensor& all, const Shape& shape) {
  return all.rows(kGuardsBefore, shape.num_elements()).reshaped(shape);
}

Tensor guarded_reals(const OpContext& ops,
                     DType dtype,
                     const std::vector<double>& all,
                     const Shape& shape) {
  return between_guards(reals_from_host(ops, dtype, all, shape_of(all.size()), "test.reals"),
                        shape);
}

Tensor guarded_integers(const OpContext& ops,
                        const std::vector<std::int64_t>& all,
                        const Shape& shape) {
  return between_guards(integers_from_host(ops, all, shape_of(all.size()), "test.integers"), shape);
}

// From one value of a type to the next at x.
double step_at(DType dtype, double x) {
  const int bits = dtype == DType::kF64 ? 53 : dtype == DType::kF32 ? 24 : 8;
  int exponent = 0;
  std::frexp(x, &exponent);
  return x == 0.0 ? 0.0 : std::ldexp(1.0, exponent - bits);
}

double largest_finite(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// The first element that `is_right` refuses, and how many there are.
template <typename IsRight>
testing::AssertionResult all_right(const std::vector<double>& actual,
                                   const std::vector<double>& expected,
                                   const IsRight& is_right) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " elements, not " << expected.size();
  }
  std::size_t first = actual.size();
  std::size_t num_wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isnan(expected[i]) && is_right(actual[i], expected[i])) continue;
    first = std::min(first, i);
    ++num_wrong;
  }
  if (num_wrong == 0) return testing::AssertionSuccess();
  std::ostringstream text;
  text.precision(17);
  text << num_wrong << " of " << actual.size() << " elements are wrong, the first is " << first
       << ": " << actual[first] << ", expected " << expected[first] << ", off by "
       << actual[first] - expected[first];
  return testing::AssertionFailure() << text.str();
}

// By name, so that no two tests have the same numbers.
std::uint64_t seed_of_this_test() {
  const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
  return stream_of(std::string(info.test_suite_name()) + "." + info.name());
}

}  // namespace

testing::AssertionResult same_bits(const std::vector<double>& actual,
                                   const std::vector<double>& expected) {
  return all_right(actual, expected, [](double a, double e) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(e);
  });
}

GpuFixture::GpuFixture(DType dtype)
    : cpu_(dtype),
      gpu_(0),
      device_(gpu_),
      kernels_(cuda_kernels()),
      gpu_ops_{.device = device_, .kernels = kernels_, .dtype = dtype},
      seed_(seed_of_this_test()) {}

std::vector<double> GpuFixture::draw(std::int64_t count) {
  ++num_draws_;
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = random_signed(seed_, num_draws_, i);
  return numbers;
}

Twin GpuFixture::random(DType dtype, const Shape& shape) {
  return reals(dtype, draw(shape.num_elements()), shape);
}

Twin GpuFixture::random(const Shape& shape) { return random(cpu().dtype, shape); }

Twin GpuFixture::random_main(const Shape& shape) { return random(cpu().main_dtype(), shape); }

Twin GpuFixture::reals(const std::vector<double>& values, const Shape& shape) const {
  return reals(cpu().dtype, values, shape);
}

Twin GpuFixture::reals(DType dtype, const std::vector<double>& values, const Shape& shape) const {
  const std::vector<double> all = with_guards(values, kNaN);
  return {.cpu = guarded_reals(cpu(), dtype, all, shape),
          .gpu = guarded_reals(gpu(), dtype, all, shape)};
}

Twin GpuFixture::integers(const std::vector<std::int64_t>& values) const {
  const std::vector<std::int64_t> all = with_guards(values, kNoInteger);
  const Shape shape = shape_of(values.size());
  return {.cpu = guarded_integers(cpu(), all, shape), .gpu = guarded_integers(gpu(), all, shape)};
}

std::vector<double> GpuFixture::read_gpu(const Tensor& tensor) const {
  return read_reals(gpu(), tensor, "test.read");
}

testing::AssertionResult GpuFixture::same_bits(const Twin& y) const {
  return test::same_bits(read_gpu(y.gpu), values_of(y.cpu));
}

testing::AssertionResult GpuFixture::close(const Twin& y, double ulps_max) const {
  const DType dtype = y.cpu.dtype;
  const DType wide = accumulation_type(dtype);
  const std::vector<double> expected = values_of(y.cpu);
  const double slack = ulps_max * step_at(wide, largest_finite(expected));
  return all_right(read_gpu(y.gpu), expected, [&](double actual, double right) {
    if (!std::isfinite(right)) return actual == right;
    const double larger = std::max(std::abs(actual), std::abs(right));
    const double turned = dtype == wide ? 0.0 : step_at(dtype, larger);
    return std::abs(actual - right) <= slack + turned;
  });
}

testing::AssertionResult GpuFixture::guards_stand(const Twin& input) const {
  Tensor all = input.gpu;
  const std::int64_t count = all.num_elements();
  all.offset -= kGuardsBefore;
  all.shape = {kGuardsBefore + count + kGuardsAfter};
  const std::vector<double> values = read_gpu(all);
  for (std::int64_t i = 0; i < all.num_elements(); ++i) {
    const bool is_guard = i < kGuardsBefore || i >= kGuardsBefore + count;
    const double value = values[static_cast<std::size_t>(i)];
    if (!is_guard || std::isnan(value)) continue;
    return testing::AssertionFailure()
           << "element " << i - kGuardsBefore << " of " << count << " was overwritten: " << value;
  }
  return testing::AssertionSuccess();
}

std::string type_name(const testing::TestParamInfo<DType>& row) {
  return std::string(name_of(row.param));
}

}  // namespace lockstep::test
