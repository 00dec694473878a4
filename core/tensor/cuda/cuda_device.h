// The CUDA device: each launch is enqueued on its stream; only a host read waits.
//
// Memory comes from the GPU's stream-ordered pool and is poisoned when it is allocated, as on the
// CPU. Used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/tensor/cuda/gpu.h"
#include "core/tensor/device.h"

namespace lockstep {

class CudaDevice : public Device {
 public:
  // The GPU must outlive it.
  explicit CudaDevice(Gpu& gpu);
  // Waits for nothing: work may still be under way.
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  // CudaError where it cannot be enqueued, or where earlier work has failed.
  Ticket launch(const Launch& launch) override;

  // The cudaStream_t of a stream.
  void* native_stream(Stream stream);
  Gpu& gpu() { return gpu_; }

  // Called again and again while the host waits for work here; what it throws ends the wait.
  void set_watch(std::function<void()> watch) { watch_ = std::move(watch); }
  // Waits for all work on all streams; CudaError where some has failed.
  void finish();

 private:
  // Tickets of one stream. A wait may be for more than was asked: all that is enqueued by then.
  struct Queue : TicketSource {
    void wait(std::uint64_t sequence, Stream stream, std::string_view label) override;

    CudaDevice* device = nullptr;
    Lane* lane = nullptr;
    std::uint64_t num_launches = 0;
  };

  Queue& queue_of(Stream stream);
  void wait_on_host(const Queue& queue, std::string_view label);
  void allocate(Storage& storage, const Queue& queue);
  void release(Storage& storage, Stream stream);

  Gpu& gpu_;
  std::vector<std::unique_ptr<Queue>> queues_;  // by stream
  std::function<void()> watch_;
};

}  // namespace lockstep
