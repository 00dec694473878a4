// An order between streams of GPUs, kept by the GPU: the host waits for nothing.
#pragma once

#include <string_view>

namespace lockstep {

// A point in a stream's work that other streams wait for. It may be recorded anew while some still
// wait for what it was before.
class GpuEvent {
 public:
  // On the GPU that the calling thread has entered.
  GpuEvent();
  ~GpuEvent();
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  // After all that is on `stream`, a cudaStream_t, by now. CudaError, which begins with what was
  // being done, where that fails.
  void record(void* stream, std::string_view doing = "recording an event");
  // What is enqueued on `stream` from now on runs after the point recorded last. Fails likewise.
  void hold_back(void* stream, std::string_view doing = "making a stream wait for an event") const;
  // Whether the GPU has come to the point recorded last. CudaError where work before it failed.
  bool is_reached() const;

 private:
  void* event_ = nullptr;  // cudaEvent_t
};

}  // namespace lockstep
