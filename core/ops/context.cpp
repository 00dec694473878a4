// Allocation of outputs.
#include "core/ops/context.h"

namespace lockstep {

Tensor new_tensor(const OpContext& ops, const Shape& shape, std::string_view label) {
  return allocate_tensor(ops.device, ops.dtype, shape, label);
}

}  // namespace lockstep
