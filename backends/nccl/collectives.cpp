// Plans' operations as NCCL's calls.
#include "backends/nccl/collectives.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <list>
#include <map>
#include <string>

#include "backends/nccl/api.h"
#include "core/base/errors.h"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::backends {
namespace {

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return ncclFloat64;
    case DType::kF32:
      return ncclFloat32;
    case DType::kBF16:
      return ncclBfloat16;
    case DType::kI64:
      return ncclInt64;
  }
  throw InternalError("unknown dtype");
}

ncclRedOp_t op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kMax:
      return ncclMax;
  }
  throw InternalError("unknown reduction");
}

ncclResult_t begin(const NcclOperation& its, ncclComm* comm, cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(its.count);
  const ncclDataType_t type = type_of(its.dtype);
  switch (its.kind) {
    case NcclOperationKind::kAllReduce:
      return ncclAllReduce(its.from, its.to, count, type, op_of(its.op), comm, stream);
    case NcclOperationKind::kReduceScatter:
      return ncclReduceScatter(its.from, its.to, count, type, op_of(its.op), comm, stream);
    case NcclOperationKind::kAllGather:
      return ncclAllGather(its.from, its.to, count, type, comm, stream);
    case NcclOperationKind::kReduce:
      return ncclReduce(its.from, its.to, count, type, op_of(its.op), its.peer, comm, stream);
    case NcclOperationKind::kBroadcast:
      return ncclBroadcast(its.from, its.to, count, type, its.peer, comm, stream);
    case NcclOperationKind::kSend:
      return ncclSend(its.from, count, type, its.peer, comm, stream);
    case NcclOperationKind::kReceive:
      return ncclRecv(its.to, count, type, its.peer, comm, stream);
  }
  throw InternalError("unknown operation of NCCL");
}

ncclResult_t begin_all(std::span<const NcclPart> parts) {
  for (const NcclPart& part : parts) {
    part.gpu->enter();
    for (const NcclOperation& operation : part.plan->operations) {
      const ncclResult_t result =
          begin(operation, part.communicator, static_cast<cudaStream_t>(part.stream));
      if (result != ncclSuccess) return result;
    }
  }
  return ncclSuccess;
}

// A group that was begun must be ended, or the thread stays in it. No rank of this process launches
// anything while some parts are enqueued and others are not.
void enqueue_group(std::span<const NcclPart> parts) {
  std::map<int, Gpu*> gpus;  // closed in one order
  for (const NcclPart& part : parts) gpus[part.gpu->ordinal()] = part.gpu;
  std::list<LaunchGate::Closed> closed;
  for (const auto& [ordinal, gpu] : gpus) closed.emplace_back(gpu->gate());
  check_nccl(ncclGroupStart(), "beginning a group");
  const ncclResult_t begun = begin_all(parts);
  const ncclResult_t ended = ncclGroupEnd();
  check_nccl(begun, "enqueueing");
  check_nccl(ended, "enqueueing");
}

}  // namespace

StreamScratch::~StreamScratch() {
  for (void* block : blocks_) cudaFreeAsync(block, static_cast<cudaStream_t>(stream_));
}

std::byte* StreamScratch::take(std::int64_t num_bytes) {
  void* block = nullptr;
  check_cuda(cudaMallocAsync(
                 &block, static_cast<std::size_t>(num_bytes), static_cast<cudaStream_t>(stream_)),
             "allocating " + std::to_string(num_bytes) + " bytes for a call's copies");
  blocks_.push_back(block);
  return static_cast<std::byte*>(block);
}

void enqueue_parts(std::span<const NcclPart> parts) {
  bool any_operations = false;
  for (const NcclPart& part : parts) {
    part.gpu->enter();
    for (const ByteCopy& copy : part.plan->copies) copy_on_gpu({&copy, 1}, part.stream);
    const bool has_operations = !part.plan->operations.empty();
    LOCKSTEP_CHECK(!has_operations || part.communicator != nullptr,
                   "a call among several ranks has no communicator");
    any_operations = any_operations || has_operations;
  }
  if (any_operations) enqueue_group(parts);
  for (const NcclPart& part : parts) {
    part.gpu->enter();
    for (const PlannedReduction& reduction : part.plan->reductions) {
      std::byte* const output = reduction.output;
      reduce_on_gpu(reduction.how, reduction.inputs, 0, reduction.count, {&output, 1}, part.stream);
    }
    part.done->record(part.stream);
  }
}

}  // namespace lockstep::backends
