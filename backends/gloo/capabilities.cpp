// The one table of what Gloo does itself and what is built from it.
#include "backends/gloo/reduction.h"
#include "backends/gloo/transport.h"
#include "core/base/errors.h"

namespace lockstep::backends {

Support gloo_support(const CallType& type) {
  switch (type.kind) {
    case CollectiveKind::kAllReduce: {
      const Combination combination = combination_of(type.dtype, type.op);
      if (combination.instead.empty()) return {.kind = SupportKind::kNative};
      return {.kind = SupportKind::kBuilt, .how = combination.instead};
    }
    case CollectiveKind::kReduceScatter:
      return {.kind = SupportKind::kBuilt,
              .how = "Gloo's alltoallv of the parts, then a reduction in rank order"};
    case CollectiveKind::kAllGather:  // allgatherv
    case CollectiveKind::kAllToAll:   // alltoallv
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kBarrier:
      return {.kind = SupportKind::kNative};
    case CollectiveKind::kSend:  // unbound buffers
    case CollectiveKind::kRecv:
      return {.kind = SupportKind::kNative};
  }
  throw InternalError("unknown kind of collective");
}

}  // namespace lockstep::backends
