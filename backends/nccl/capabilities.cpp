// The one table of what NCCL does itself and what is built from it.
#include "backends/nccl/plan.h"
#include "core/base/errors.h"

namespace lockstep::backends {

Support planned_support(const CallType& type) {
  switch (type.kind) {
    case CollectiveKind::kAllReduce:
      if (nccl_reduces(type.dtype, type.op)) return {.kind = SupportKind::kNative};
      return {.kind = SupportKind::kBuilt,
              .how = "NCCL's all_gather, then a maximum that keeps NaN"};
    case CollectiveKind::kReduceScatter:
      if (nccl_reduces(type.dtype, type.op)) return {.kind = SupportKind::kNative};
      return {.kind = SupportKind::kBuilt,
              .how = "NCCL's sends of the parts, then a maximum that keeps NaN"};
    case CollectiveKind::kAllToAll:
      return {.kind = SupportKind::kBuilt, .how = "NCCL's sends of the parts, in one group"};
    case CollectiveKind::kBarrier:
      return {.kind = SupportKind::kBuilt, .how = "NCCL's all_reduce of one element"};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      return {.kind = SupportKind::kNative};
  }
  throw InternalError("unknown kind of collective");
}

}  // namespace lockstep::backends
