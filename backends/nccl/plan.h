// What a call comes to: copies, then operations of NCCL in one group, then reductions. A value: it
// is made without a GPU.
//
// NCCL has no uneven parts, allows input and output to overlap only where they lie in place, and
// its maximum forgets NaN: what it lacks is built here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/cuda/moves.h"
#include "core/comm/communicator.h"

namespace lockstep::backends {

// Its sums, and maxima of integers.
bool nccl_reduces(DType dtype, ReduceOp op);
// How a call of that type is planned.
Support planned_support(const CallType& type);

enum class NcclOperationKind {
  kAllReduce,
  kReduceScatter,  // equal parts; `count` is one part's
  kAllGather,      // likewise
  kReduce,         // to `peer`
  kBroadcast,      // of `peer`
  kSend,           // to `peer`
  kReceive,        // from `peer`
};

struct NcclOperation {
  NcclOperationKind kind = NcclOperationKind::kAllReduce;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t count = 0;  // elements, one at least
  DType dtype = DType::kF64;
  ReduceOp op = ReduceOp::kSum;
  int peer = 0;  // by place in the group
};

// Of whole buffers, in the order of the inputs.
struct PlannedReduction {
  GpuReduction how;
  std::vector<const std::byte*> inputs;
  std::int64_t count = 0;
  std::byte* output = nullptr;
};

struct NcclPlan {
  std::vector<ByteCopy> copies;  // one after the other
  std::vector<NcclOperation> operations;
  std::vector<PlannedReduction> reductions;
};

// Memory of the GPU that lives until the plan has been carried out. Never null.
using TakeScratch = std::function<std::byte*(std::int64_t num_bytes)>;

// Which member of the group this rank is.
struct GroupSeat {
  int me = 0;
  int size = 1;
};

// Adds a call that call_rules.h accepts. All members' plans have the same operations of collectives
// in the same order, and sends that meet receives. A message's other end is not this rank.
void plan_call(const CollectiveCall& call,
               const GroupSeat& seat,
               const TakeScratch& scratch,
               NcclPlan& plan);
// Both ends are this rank's.
void plan_own_message(const CollectiveCall& send,
                      const CollectiveCall& receive,
                      const TakeScratch& scratch,
                      NcclPlan& plan);

}  // namespace lockstep::backends
