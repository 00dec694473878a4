// What tests of ops with more than one result share, and how far a sum in another order may be off.
#pragma once

#include <cmath>

#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep::test {

// One tensor of what an op gave on each device.
template <typename Result>
Twin part(const Both<Result>& results, Tensor Result::*member) {
  return {.cpu = results.cpu.*member, .gpu = results.gpu.*member};
}

// Ulps between two sums of the same `count` terms in different orders: their roundings, half an ulp
// each, add up like the steps of a random walk.
inline double ulps_of_sum(std::int64_t count) {
  return 4.0 + std::sqrt(static_cast<double>(count));
}

}  // namespace lockstep::test
