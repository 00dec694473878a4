// In a build without CUDA: the same functions, which say so.
#include "core/base/errors.h"
#include "core/tensor/cuda/cuda_device.h"
#include "core/tensor/cuda/event.h"

namespace lockstep {
namespace {

[[noreturn]] void refuse() { throw UsageError(why_no_cuda()); }

}  // namespace

std::string why_no_cuda() {
  return "this build has no CUDA: install NVIDIA's CUDA toolkit (nvcc, cuBLAS) and build again";
}

std::string cuda_version() { return "not in this build"; }
int num_gpus() { return 0; }
std::vector<GpuName> gpu_names() { return {}; }
void check_cuda(int, std::string_view) { refuse(); }

Gpu::Gpu(int ordinal) : ordinal_(ordinal) { refuse(); }
Gpu::~Gpu() = default;
void Gpu::enter() const { refuse(); }
Lane& Gpu::take_lane() { refuse(); }
void Gpu::give_back(Lane&) { refuse(); }
bool Gpu::is_lost() const { return true; }

GpuEvent::GpuEvent() { refuse(); }
GpuEvent::~GpuEvent() = default;
void GpuEvent::record(void*, std::string_view) { refuse(); }
void GpuEvent::hold_back(void*, std::string_view) const {
  static_cast<void>(event_);  // else clang warns of a member without use
  refuse();
}
bool GpuEvent::is_reached() const { refuse(); }

CudaDevice::CudaDevice(Gpu& gpu) : gpu_(gpu) { refuse(); }
CudaDevice::~CudaDevice() = default;
void* CudaDevice::native_stream(Stream) { refuse(); }
void CudaDevice::finish() { refuse(); }
Ticket CudaDevice::launch(const Launch&) { refuse(); }
void CudaDevice::Queue::wait(std::uint64_t, Stream, std::string_view) { refuse(); }

}  // namespace lockstep
