// Errors of an op in a lower precision, in ulps.
#include "tests/core/ops/precision.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

// The distance between neighbours of x in a type.
double ulp(DType dtype, double x) {
  const int mantissa_bits = dtype == DType::kBF16 ? 7 : 23;
  return x == 0.0 ? 0.0 : std::ldexp(1.0, std::ilogb(x) - mantissa_bits);
}

}  // namespace

double ulps_of_arithmetic(const OpWithPrecision& op, DType dtype) {
  OpFixture exact(DType::kF64, dtype);
  OpFixture rounded(dtype, dtype);
  const std::vector<double> expected = values_of(op.result(exact));
  const Tensor tensor = op.result(rounded);
  const std::vector<double> actual = values_of(tensor);
  LOCKSTEP_CHECK(actual.size() == expected.size() && !actual.empty(),
                 op.name + ": other sizes in two precisions");
  double largest = 0.0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  const double unit = ulp(accumulation_type(dtype), largest);
  double worst = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double store = 0.5 * ulp(tensor.dtype, expected[i]);
    const double arithmetic = (std::abs(actual[i] - expected[i]) - store) / unit;
    if (!(arithmetic <= worst)) worst = arithmetic;  // NaN counts
  }
  return worst;
}

}  // namespace lockstep::test
