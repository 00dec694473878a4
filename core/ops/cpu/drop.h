// What dropout multiplies an element by, in the CPU kernels.
#pragma once

#include "core/base/random.h"
#include "core/ops/attention_args.h"

namespace lockstep::cpu {

// 0 or 1 / (1 - probability). `index` is of the full tensor.
template <typename A>
A drop_factor(const Dropout& dropout, std::int64_t index) {
  const double draw = random_unit(dropout.seed, dropout.stream, static_cast<std::uint64_t>(index));
  return draw < dropout.probability ? A{0} : static_cast<A>(1.0 / (1.0 - dropout.probability));
}

}  // namespace lockstep::cpu
