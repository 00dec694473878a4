// What an op needs of the rank it runs on.
#pragma once

#include "core/ops/kernels.h"
#include "core/tensor/tensor.h"

namespace lockstep {

struct OpContext {
  Device& device;
  const KernelTable& kernels;
  DType dtype = DType::kF64;  // of activations and parameters
};

// New memory for an op's output.
Tensor new_tensor(const OpContext& ops, const Shape& shape, std::string_view label);

// One kernel as one launch: the only way from an op to the device.
template <typename Args>
void launch_kernel(const OpContext& ops,
                   std::string_view label,
                   std::span<const Buffer> reads,
                   std::span<const Buffer> writes,
                   const Cost& cost,
                   Kernel<Args> kernel,
                   const Args& args) {
  ops.device.launch(
      {.label = label,
       .reads = reads,
       .writes = writes,
       .cost = cost,
       .body = [kernel, &args](const LaunchTarget& target) { kernel(target, args); }});
}

}  // namespace lockstep
