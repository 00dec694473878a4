// Blocking collectives.
#include "core/parallel/collectives.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

void run(const RankContext& context, const CollectiveSite& site, CollectiveCall call) {
  call.label = site.label;
  call.stream = context.ops.stream;
  const Ticket ticket = context.communicators.of(site.group).submit({&call, 1});
  wait_for(context.ops.device, ticket, call.label, call.stream);
}

// What the call makes of `x`, as a new tensor of `shape`.
Tensor run_on(const Tensor& x,
              const RankContext& context,
              const CollectiveSite& site,
              const Shape& shape,
              CollectiveCall call) {
  const OpContext& ops = context.ops;
  const Tensor out = allocate_tensor(ops.device, x.dtype, shape, site.label, ops.stream);
  call.input = x.buffer();
  call.output = out.buffer();
  run(context, site, call);
  return out;
}

}  // namespace

void all_reduce(const RankContext& context,
                const CollectiveSite& site,
                const Tensor& tensor,
                ReduceOp op) {
  run(context,
      site,
      {.kind = CollectiveKind::kAllReduce,
       .input = tensor.buffer(),
       .output = tensor.buffer(),
       .op = op});
}

Tensor all_reduced(const RankContext& context,
                   const CollectiveSite& site,
                   const Tensor& x,
                   ReduceOp op) {
  return run_on(x, context, site, x.shape, {.kind = CollectiveKind::kAllReduce, .op = op});
}

Tensor all_gather_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  Shape shape = x.shape;
  shape.set(0, shape[0] * context.group_size(site.group));
  return run_on(x, context, site, shape, {.kind = CollectiveKind::kAllGather});
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
  return run_on(x, context, site, shape, {.kind = CollectiveKind::kReduceScatter});
}

Tensor all_to_all_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const int size = context.group_size(site.group);
  LOCKSTEP_CHECK(x.shape[0] == size,
                 to_text(x.shape) + " has no row for each of " + std::to_string(size) + " ranks");
  return run_on(x, context, site, x.shape, {.kind = CollectiveKind::kAllToAll});
}

RingPass pass_on(const RankContext& context,
                 const CollectiveSite& site,
                 std::span<const Tensor> sent) {
  const OpContext& ops = context.ops;
  const int size = context.group_size(site.group);
  const int own = context.group_rank(site.group).value;
  RingPass pass;
  std::vector<CollectiveCall> calls;
  for (const Tensor& tensor : sent) {
    pass.received.push_back(
        allocate_tensor(ops.device, tensor.dtype, tensor.shape, site.label, ops.stream));
    CollectiveCall call{.label = site.label,
                        .kind = CollectiveKind::kSend,
                        .input = tensor.buffer(),
                        .peer = GroupRank{(own + 1) % size},
                        .tag = static_cast<std::int64_t>(pass.received.size()) - 1,
                        .stream = ops.stream};
    calls.push_back(call);
    call.kind = CollectiveKind::kRecv;
    call.input = {};
    call.output = pass.received.back().buffer();
    call.peer = GroupRank{(own + size - 1) % size};
    calls.push_back(call);
  }
  pass.ticket = context.communicators.of(site.group).submit(calls);
  return pass;
}

std::vector<Tensor> wait_for_pass(const RankContext& context,
                                  const CollectiveSite& site,
                                  const RingPass& pass) {
  wait_for(context.ops.device, pass.ticket, site.label, context.ops.stream);
  return pass.received;
}

}  // namespace lockstep
