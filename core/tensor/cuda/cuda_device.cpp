// Launches enqueued on streams.
#include "core/tensor/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <string>
#include <thread>

#include "core/base/errors.h"
#include "core/tensor/cuda/event.h"
#include "core/tensor/cuda/poison.h"
#include "core/tensor/storage.h"

namespace lockstep {
namespace {

cudaStream_t stream_of(const Lane* lane) { return static_cast<cudaStream_t>(lane->stream); }

std::string at(std::string_view label) { return "'" + std::string(label) + "'"; }

}  // namespace

CudaDevice::CudaDevice(Gpu& gpu) : gpu_(gpu) {}

CudaDevice::~CudaDevice() {
  for (const auto& queue : queues_) {
    if (queue != nullptr) gpu_.give_back(*queue->lane);
  }
}

CudaDevice::Queue& CudaDevice::queue_of(Stream stream) {
  const auto index = static_cast<std::size_t>(stream.value);
  if (index >= queues_.size()) queues_.resize(index + 1);
  if (queues_[index] == nullptr) {
    auto queue = std::make_unique<Queue>();
    queue->device = this;
    const LaunchGate::Pass pass(gpu_.gate());
    queue->lane = &gpu_.take_lane();
    queues_[index] = std::move(queue);
  }
  return *queues_[index];
}

void* CudaDevice::native_stream(Stream stream) { return queue_of(stream).lane->stream; }

void CudaDevice::Queue::wait(std::uint64_t, Stream stream, std::string_view label) {
  const Queue& waiting = device->queue_of(stream);
  if (&waiting == this) return;
  const std::string doing = at(label);
  const LaunchGate::Pass pass(device->gpu_.gate());
  GpuEvent event;
  event.record(lane->stream, doing);
  event.hold_back(waiting.lane->stream, doing);
}

void CudaDevice::allocate(Storage& storage, const Queue& queue) {
  if (storage.num_bytes() == 0) return;
  void* memory = nullptr;
  const auto bytes = static_cast<std::size_t>(storage.num_bytes());
  if (const cudaError_t error = cudaMallocAsync(&memory, bytes, stream_of(queue.lane));
      error != cudaSuccess) {
    check_cuda(error, "allocating " + std::to_string(bytes) + " bytes for " + at(storage.label()));
  }
  storage.set_data(static_cast<std::byte*>(memory));
  poison_on_gpu(storage.data(), storage.num_bytes(), queue.lane->stream);
}

// Runs in destructors, and so never throws: after a fault of the GPU nothing can be freed, and that
// was told before. Memory was allocated on its stream, which is there.
void CudaDevice::release(Storage& storage, Stream stream) {
  if (storage.data() == nullptr) return;
  cudaSetDevice(gpu_.ordinal());
  cudaFreeAsync(storage.data(), stream_of(queues_[static_cast<std::size_t>(stream.value)]->lane));
  storage.set_data(nullptr);
}

// A wait that may be given up polls: a blocking one could never be.
void CudaDevice::wait_on_host(const Queue& queue, std::string_view label) {
  constexpr int kPollsBetweenWatches = 64;
  cudaError_t state = cudaSuccess;
  for (int polls = 1;; ++polls) {
    state = cudaStreamQuery(stream_of(queue.lane));
    if (state != cudaErrorNotReady) break;
    cudaGetLastError();  // "not ready" counts as an error there, and the next launch reads it
    if (polls % kPollsBetweenWatches != 0) continue;
    if (watch_) watch_();
    std::this_thread::yield();
  }
  if (state == cudaSuccess) return;
  check_cuda(state,
             "waiting for what " + at(label) +
                 " reads, where what any rank launched on this GPU before may have failed");
}

void CudaDevice::finish() {
  gpu_.enter();
  for (const auto& queue : queues_) {
    if (queue != nullptr) wait_on_host(*queue, "the end");
  }
}

Ticket CudaDevice::launch(const Launch& launch) {
  if (launch.kind == LaunchKind::kFree) {
    release(*launch.writes[0].storage, launch.stream);
    return {};
  }
  gpu_.enter();
  Queue& queue = queue_of(launch.stream);
  const Ticket ticket{.source = &queue, .sequence = ++queue.num_launches};
  if (launch.kind == LaunchKind::kWait) {
    // Not in the gate as a whole: what is waited for may have to close it.
    if (launch.ticket.source != nullptr) {
      launch.ticket.source->wait(launch.ticket.sequence, launch.stream, launch.label);
    }
    return ticket;
  }
  if (launch.kind == LaunchKind::kHostRead) wait_on_host(queue, launch.label);
  const LaunchGate::Pass pass(gpu_.gate());
  if (launch.kind == LaunchKind::kAllocate) {
    allocate(*launch.writes[0].storage, queue);
  } else {
    launch.body({.native_stream = queue.lane->stream, .products = &queue.lane->products});
  }
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    check_cuda(error, at(launch.label));
  }
  return ticket;
}

}  // namespace lockstep
