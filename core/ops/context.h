// What an op needs of the rank it runs on.
#pragma once

#include <initializer_list>

#include "core/ops/kernels.h"
#include "core/tensor/tensor.h"

namespace lockstep {

struct OpContext {
  Device& device;
  const KernelTable& kernels;
  DType dtype = DType::kF64;  // of activations and parameters
  Stream stream = {};         // on which ops run and their outputs are allocated

  // Of statistics, losses, main gradients, masters and optimizer state.
  DType main_dtype() const { return accumulation_type(dtype); }
};

// New memory for an op's output.
Tensor new_tensor(const OpContext& ops, DType dtype, const Shape& shape, std::string_view label);
// The same of the context's own type.
Tensor new_tensor(const OpContext& ops, const Shape& shape, std::string_view label);

// What a kernel touches and does. It moves each of its buffers once.
struct KernelWork {
  std::initializer_list<Buffer> reads;
  std::initializer_list<Buffer> writes;
  std::int64_t flops = 0;
};
Cost cost_of(const KernelWork& work);

// One kernel as one launch: the only way from an op to the device.
template <typename Args>
void launch_kernel(const OpContext& ops,
                   std::string_view label,
                   const KernelWork& work,
                   Kernel<Args> kernel,
                   const Args& args) {
  ops.device.launch(
      {.label = label,
       .reads = work.reads,
       .writes = work.writes,
       .cost = cost_of(work),
       .stream = ops.stream,
       .body = [kernel, &args](const LaunchTarget& target) { kernel(target, args); }});
}

}  // namespace lockstep
