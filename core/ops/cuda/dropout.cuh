// Which elements dropout leaves, by their index, and by what they are multiplied.
#pragma once

#include <cstdint>

#include "core/base/random.h"
#include "core/ops/attention_args.h"

namespace lockstep::cuda {

template <typename A>
struct Keeping {
  Dropout dropout;
  A factor;  // of what is kept

  __device__ bool draws() const { return dropout.probability > 0.0; }
  // Of the element of an index: the factor, or 0 where it is dropped.
  __device__ A operator()(std::int64_t index) const {
    if (!draws()) return A{1};
    const double drawn =
        random_unit(dropout.seed, dropout.stream, static_cast<std::uint64_t>(index));
    return drawn < dropout.probability ? A{0} : factor;
  }
};

template <typename A>
Keeping<A> keeping_of(const Dropout& dropout) {
  return {.dropout = dropout, .factor = static_cast<A>(1.0 / (1.0 - dropout.probability))};
}

}  // namespace lockstep::cuda
