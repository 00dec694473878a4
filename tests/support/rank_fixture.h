// A cluster whose ranks have a full rank context: for tests of mappings, layers and the trainer.
#pragma once

#include <functional>

#include "core/parallel/mappings.h"
#include "core/parallel/rank_context.h"
#include "simulator/runtime/cluster.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

// Runs `program` on each rank of the layout with CPU kernels and true mappings.
sim::ClusterReport spawn_contexts(const Layout& layout,
                                  const std::function<void(const RankContext&)>& program,
                                  const sim::ClusterOptions& options = {});

// Element i of a tensor that all ranks know: multiples of 2^-52 in [-1, 1) by stream.
Tensor known_tensor(const RankContext& context, const Shape& shape, std::uint64_t stream);

}  // namespace lockstep::test
