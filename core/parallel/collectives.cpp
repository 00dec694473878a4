// Blocking collectives.
#include "core/parallel/collectives.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

void run(const RankContext& context, GroupKind group, const CollectiveCall& call) {
  const Ticket ticket = context.communicators.of(group).submit({&call, 1});
  wait_for(context.ops.device, ticket, call.label);
}

}  // namespace

void all_reduce(const RankContext& context,
                const CollectiveSite& site,
                const Tensor& tensor,
                ReduceOp op) {
  run(context,
      site.group,
      {.label = site.label,
       .kind = CollectiveKind::kAllReduce,
       .input = tensor.buffer(),
       .output = tensor.buffer(),
       .op = op});
}

Tensor all_reduced(const RankContext& context,
                   const CollectiveSite& site,
                   const Tensor& x,
                   ReduceOp op) {
  const Tensor out = allocate_tensor(context.ops.device, x.dtype, x.shape, site.label);
  run(context,
      site.group,
      {.label = site.label,
       .kind = CollectiveKind::kAllReduce,
       .input = x.buffer(),
       .output = out.buffer(),
       .op = op});
  return out;
}

Tensor all_gather_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  Shape shape = x.shape;
  shape.set(0, shape[0] * context.group_size(site.group));
  const Tensor out = allocate_tensor(context.ops.device, x.dtype, shape, site.label);
  run(context,
      site.group,
      {.label = site.label,
       .kind = CollectiveKind::kAllGather,
       .input = x.buffer(),
       .output = out.buffer()});
  return out;
}

Tensor reduce_scatter_rows(const RankContext& context,
                           const CollectiveSite& site,
                           const Tensor& x) {
  const int size = context.group_size(site.group);
  Shape shape = x.shape;
  LOCKSTEP_CHECK(shape[0] % size == 0,
                 std::to_string(shape[0]) + " rows cannot be scattered over " +
                     std::to_string(size) + " ranks");
  shape.set(0, shape[0] / size);
  const Tensor out = allocate_tensor(context.ops.device, x.dtype, shape, site.label);
  run(context,
      site.group,
      {.label = site.label,
       .kind = CollectiveKind::kReduceScatter,
       .input = x.buffer(),
       .output = out.buffer()});
  return out;
}

}  // namespace lockstep
