// The core at one rank on parameters and a batch that are given instead of drawn.
#pragma once

#include "tests/goldens/golden.h"

namespace lockstep::test {

// Forward, loss and backward in the case's own precision.
Outcome run_core(const Case& c, const matrix::Batch& batch, const matrix::Tensors& parameters);

}  // namespace lockstep::test
