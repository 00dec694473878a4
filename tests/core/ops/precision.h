// How exact an op in a lower precision must be: up to its own arithmetic, itself in f64 on the same
// inputs.
//
// An element may be off by half an ulp of its own type, for the one rounding at the store, and by
// as many ulps of the accumulation type at the largest element as the op's row states, for the
// arithmetic before it. In bf16 that leaves no room for a second rounding anywhere.
#pragma once

#include <functional>
#include <string>

#include "tests/support/op_fixture.h"

namespace lockstep::test {

struct OpWithPrecision {
  std::string name;
  double ulps_max;  // of the accumulation type, at the largest element
  std::function<Tensor(OpFixture&)> result;
};

// What there is to hold against ulps_max; NaN where an element is.
double ulps_of_arithmetic(const OpWithPrecision& op, DType dtype);

}  // namespace lockstep::test
