// Blocking collectives on tensors: one submit, then the labelled wait, on the context's stream.
#pragma once

#include "core/parallel/rank_context.h"

namespace lockstep {

struct CollectiveSite {
  GroupKind group;
  std::string_view label;  // outlives the trial
};

// In place.
void all_reduce(const RankContext& context,
                const CollectiveSite& site,
                const Tensor& tensor,
                ReduceOp op = ReduceOp::kSum);
// A new tensor; `x` stays as it is.
Tensor all_reduced(const RankContext& context,
                   const CollectiveSite& site,
                   const Tensor& x,
                   ReduceOp op = ReduceOp::kSum);
// Along dim 0, in the group's order: [n rows] to [size * n rows], and its inverse with a sum.
Tensor all_gather_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x);
Tensor reduce_scatter_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x);

}  // namespace lockstep
