// One thread an element: it combines the inputs in their order and stores the result everywhere.
#include <string>

#include "backends/cuda/launch.cuh"
#include "backends/cuda/moves.h"
#include "core/base/errors.h"
#include "core/comm/element_ops.h"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::backends {
namespace {

template <std::size_t kCapacity>
struct Pointers {
  const std::byte* inputs[kCapacity];
  std::byte* outputs[kCapacity];
  int num_inputs;
  int num_outputs;
};

// A tree in post-order: how many pairs of subtrees are complete once an input has come, and are
// combined then.
template <std::size_t kCapacity>
struct Joins {
  std::uint8_t after[kCapacity];
};

template <typename T, std::size_t kCapacity>
__device__ T element_of(const Pointers<kCapacity>& pointers, int input, std::int64_t i) {
  return reinterpret_cast<const T*>(pointers.inputs[input])[i];
}

template <typename T, std::size_t kCapacity>
__device__ void store(const Pointers<kCapacity>& pointers, std::int64_t i, T value) {
  for (int j = 0; j < pointers.num_outputs; ++j) {
    reinterpret_cast<T*>(pointers.outputs[j])[i] = value;
  }
}

template <typename T, typename Op, std::size_t kCapacity>
__global__ void reduce_in_line(const __grid_constant__ Pointers<kCapacity> pointers,
                               std::int64_t first,
                               std::int64_t count) {
  for (std::int64_t i = gpu::first_index(); i < count; i += gpu::num_threads()) {
    T combined = element_of<T>(pointers, 0, first + i);
#pragma unroll 4
    for (int j = 1; j < pointers.num_inputs; ++j) {
      combined = Op::of(combined, element_of<T>(pointers, j, first + i));
    }
    store(pointers, i, combined);
  }
}

template <typename T, typename Op, std::size_t kCapacity>
__global__ void reduce_in_tree(const __grid_constant__ Pointers<kCapacity> pointers,
                               const __grid_constant__ Joins<kCapacity> joins,
                               std::int64_t first,
                               std::int64_t count) {
  constexpr int kLevels = 11;  // of kMaxGpuPointers inputs
  static_assert(std::size_t{1} << (kLevels - 1) == kMaxGpuPointers);
  for (std::int64_t i = gpu::first_index(); i < count; i += gpu::num_threads()) {
    T complete[kLevels];  // subtrees that wait for what they are combined with
    int num_complete = 0;
    for (int j = 0; j < pointers.num_inputs; ++j) {
      T value = element_of<T>(pointers, j, first + i);
      for (int left = joins.after[j]; left > 0; --left) {
        value = Op::of(complete[--num_complete], value);
      }
      complete[num_complete++] = value;
    }
    store(pointers, i, complete[0]);
  }
}

// The first half is the larger one, as on the host.
void plan_joins(std::uint8_t* after, std::size_t size) {
  if (size < 2) return;
  const std::size_t half = (size + 1) / 2;
  plan_joins(after, half);
  plan_joins(after + half, size - half);
  ++after[size - 1];
}

struct Call {
  const GpuReduction& reduction;
  std::span<const std::byte* const> inputs;
  std::int64_t first;
  std::int64_t count;
  std::span<std::byte* const> outputs;
  cudaStream_t stream;
};

template <typename T, typename Op, std::size_t kCapacity>
void launch(const Call& call) {
  Pointers<kCapacity> pointers{};
  std::copy(call.inputs.begin(), call.inputs.end(), pointers.inputs);
  std::copy(call.outputs.begin(), call.outputs.end(), pointers.outputs);
  pointers.num_inputs = static_cast<int>(call.inputs.size());
  pointers.num_outputs = static_cast<int>(call.outputs.size());
  const unsigned blocks = gpu::blocks_for(call.count);
  if (!call.reduction.tree) {
    reduce_in_line<T, Op, kCapacity>
        <<<blocks, gpu::kThreads, 0, call.stream>>>(pointers, call.first, call.count);
    return;
  }
  Joins<kCapacity> joins{};
  plan_joins(joins.after, call.inputs.size());
  reduce_in_tree<T, Op, kCapacity>
      <<<blocks, gpu::kThreads, 0, call.stream>>>(pointers, joins, call.first, call.count);
}

template <typename T, typename Op>
void launch_sized(const Call& call) {
  gpu::with_capacity<kMaxGpuPointers>(std::max(call.inputs.size(), call.outputs.size()),
                                      [&]<std::size_t kCapacity>(std::index_sequence<kCapacity>) {
                                        launch<T, Op, kCapacity>(call);
                                      });
}

template <typename T>
void launch_type(const Call& call) {
  switch (call.reduction.op) {
    case ReduceOp::kSum:
      return launch_sized<T, Sum>(call);
    case ReduceOp::kMax:
      return launch_sized<T, Max>(call);
  }
}

void launch_any(const Call& call) {
  switch (call.reduction.dtype) {
    case DType::kF64:
      return launch_type<double>(call);
    case DType::kF32:
      return launch_type<float>(call);
    case DType::kBF16:
      return launch_type<BF16>(call);
    case DType::kI64:
      return launch_type<std::int64_t>(call);
  }
}

}  // namespace

void reduce_on_gpu(const GpuReduction& reduction,
                   std::span<const std::byte* const> inputs,
                   std::int64_t first,
                   std::int64_t count,
                   std::span<std::byte* const> outputs,
                   void* stream) {
  LOCKSTEP_CHECK(!inputs.empty(), "a reduction of no inputs");
  if (const std::size_t most = std::max(inputs.size(), outputs.size()); most > kMaxGpuPointers) {
    throw UsageError("a reduction over " + std::to_string(most) + " ranks: on a GPU it takes " +
                     std::to_string(kMaxGpuPointers) + " at most");
  }
  if (count <= 0 || outputs.empty()) return;
  launch_any({.reduction = reduction,
              .inputs = inputs,
              .first = first,
              .count = count,
              .outputs = outputs,
              .stream = gpu::native(stream)});
  check_cuda(cudaGetLastError(), "starting a reduction on the GPU");
}

}  // namespace lockstep::backends
