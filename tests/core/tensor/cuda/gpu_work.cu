// Kernels of a thread or a few, which spin, wait, store or fault.
#include <cstdlib>

#include "core/tensor/cuda/gpu.h"
#include "tests/core/tensor/cuda/gpu_work.h"

namespace lockstep::test {
namespace {

cudaStream_t stream_of(const LaunchTarget& target) {
  return static_cast<cudaStream_t>(target.native_stream);
}

double* reals(const Buffer& buffer) { return reinterpret_cast<double*>(buffer.bytes()); }

__device__ std::int64_t nanoseconds_now() {
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin_kernel(std::int64_t nanoseconds) {
  const std::int64_t start = nanoseconds_now();
  while (nanoseconds_now() - start < nanoseconds) {
  }
}

__global__ void hold_kernel(const volatile int* is_open) {
  while (*is_open == 0) {
  }
}

__global__ void store_kernel(double* out, std::int64_t count, double value) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = value;
}

__global__ void copy_kernel(const double* from, double* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
}

// In the first page, which no process maps; 0 itself a compiler may take for unreachable.
__global__ void fault_kernel(std::uint64_t address) {
  *reinterpret_cast<volatile int*>(address) = 1;
}

}  // namespace

KernelsLoadedAtOnce::KernelsLoadedAtOnce() { setenv("CUDA_MODULE_LOADING", "EAGER", 1); }

void spin(const LaunchTarget& target, std::int64_t nanoseconds) {
  spin_kernel<<<1, 1, 0, stream_of(target)>>>(nanoseconds);
}

void store(const LaunchTarget& target, const Buffer& out, double value) {
  store_kernel<<<1, 1, 0, stream_of(target)>>>(reals(out), out.count, value);
}

void copy(const LaunchTarget& target, const Buffer& from, const Buffer& to) {
  copy_kernel<<<1, 1, 0, stream_of(target)>>>(reals(from), reals(to), to.count);
}

void fault(const LaunchTarget& target) { fault_kernel<<<1, 1, 0, stream_of(target)>>>(16); }

Gate::Gate() {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped), "making a gate");
  is_open_ = static_cast<volatile int*>(memory);
  *is_open_ = 0;
}

Gate::~Gate() {
  open();
  cudaDeviceSynchronize();
  cudaFreeHost(const_cast<int*>(is_open_));
}

void Gate::hold(const LaunchTarget& target) const {
  void* seen_by_gpu = nullptr;
  check_cuda(cudaHostGetDevicePointer(&seen_by_gpu, const_cast<int*>(is_open_), 0),
             "finding a gate");
  hold_kernel<<<1, 1, 0, stream_of(target)>>>(static_cast<const volatile int*>(seen_by_gpu));
}

void Gate::open() { *is_open_ = 1; }

}  // namespace lockstep::test
