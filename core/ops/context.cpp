// Allocation of outputs, and the cost of a kernel.
#include "core/ops/context.h"

namespace lockstep {

Tensor new_tensor(const OpContext& ops, DType dtype, const Shape& shape, std::string_view label) {
  return allocate_tensor(ops.device, dtype, shape, label, ops.stream);
}

Tensor new_tensor(const OpContext& ops, const Shape& shape, std::string_view label) {
  return new_tensor(ops, ops.dtype, shape, label);
}

Cost cost_of(const KernelWork& work) {
  Cost cost{.flops = work.flops};
  for (const Buffer& buffer : work.reads) cost.bytes += buffer.num_bytes();
  for (const Buffer& buffer : work.writes) cost.bytes += buffer.num_bytes();
  return cost;
}

}  // namespace lockstep
