// How near one run is to another, measured as the checks do.
#pragma once

#include <string>

#include "tests/goldens/golden.h"

namespace lockstep::test {

// The worst block of logits and gradients, and the loss; NaN counts as worst.
struct Distance {
  double error = 0.0;
  std::string where;
};

// The same tensors in both. Errors are relative to `expected`.
Distance distance(const Outcome& actual, const Outcome& expected);

}  // namespace lockstep::test
