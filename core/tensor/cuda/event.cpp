// Events without times.
#include "core/tensor/cuda/event.h"

#include <cuda_runtime_api.h>

#include "core/tensor/cuda/gpu.h"

namespace lockstep {

GpuEvent::GpuEvent() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  event_ = event;
}

// CUDA keeps what was recorded until nobody waits for it.
GpuEvent::~GpuEvent() { cudaEventDestroy(static_cast<cudaEvent_t>(event_)); }

void GpuEvent::record(void* stream, std::string_view doing) {
  check_cuda(cudaEventRecord(static_cast<cudaEvent_t>(event_), static_cast<cudaStream_t>(stream)),
             doing);
}

void GpuEvent::hold_back(void* stream, std::string_view doing) const {
  check_cuda(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event_), 0),
      doing);
}

bool GpuEvent::is_reached() const {
  const cudaError_t state = cudaEventQuery(static_cast<cudaEvent_t>(event_));
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // it counts as an error there, and the next launch would be blamed
    return false;
  }
  check_cuda(state, "waiting for an event");
  return true;
}

}  // namespace lockstep
