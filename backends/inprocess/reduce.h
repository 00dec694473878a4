// Sums and maxima over ranks in a given order, in blocks that stay in cache.
//
// Each element is computed once and copied to every output: all ranks get equal bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/comm/communicator.h"

namespace lockstep::backends {

struct Reduction {
  DType dtype = DType::kF64;
  ReduceOp op = ReduceOp::kSum;
  bool tree = false;    // halves of the ranks are summed apart; else one after another
  bool stream = false;  // past the caches, which the outputs exceed
};

// Elements [first, first + count) of the inputs, which come in the order of summation; an output
// points to where element `first` goes. bf16 is rounded after each hop.
void reduce(const Reduction& reduction,
            std::span<const std::byte* const> inputs,
            std::int64_t first,
            std::int64_t count,
            std::span<std::byte* const> outputs);

}  // namespace lockstep::backends
