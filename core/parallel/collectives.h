// Blocking collectives on tensors: one submit, then the labelled wait, on the context's stream.
#pragma once

#include <span>
#include <vector>

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
// Row j goes to rank j, and row j of the result comes from it: x has a row for each rank.
Tensor all_to_all_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x);

// Tensors on their way round a ring: each goes to the next rank of the group, and its successor,
// a new tensor of the same shape, comes from the one before.
struct RingPass {
  std::vector<Tensor> received;  // defined once waited for
  Ticket ticket;
};
// A message a tensor, all in one submit, its place being its tag; what is sent stays in use until
// the ticket has been waited for.
RingPass pass_on(const RankContext& context,
                 const CollectiveSite& site,
                 std::span<const Tensor> sent);
std::vector<Tensor> wait_for_pass(const RankContext& context,
                                  const CollectiveSite& site,
                                  const RingPass& pass);

}  // namespace lockstep
