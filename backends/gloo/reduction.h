// Sums and maxima of two runs of elements, as Gloo's reductions take them.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/comm/communicator.h"

namespace lockstep::backends {

// output[i] = op(left[i], right[i]); the output may be either of them.
using Combine = void (*)(void* output, const void* left, const void* right, std::size_t count);

struct Combination {
  Combine combine = nullptr;
  std::string_view instead = {};  // of what Gloo has, and why; empty where it is the same
};

Combination combination_of(DType dtype, ReduceOp op);

}  // namespace lockstep::backends
