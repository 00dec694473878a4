// GPUs by CUDA's runtime.
#include "core/tensor/cuda/gpu.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/errors.h"

namespace lockstep {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// 0 where there is none.
int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

// What was freed stays in the pool. A block is used again on another stream only once that is known
// to be safe: a wait that the pool puts between two ranks' streams could close a circle with a
// collective's.
void set_up_pool(int ordinal) {
  cudaMemPool_t pool = nullptr;
  check_cuda(cudaDeviceGetDefaultMemPool(&pool, ordinal), "the GPU's memory pool");
  std::uint64_t kept = std::numeric_limits<std::uint64_t>::max();
  check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept),
             "setting the memory pool's threshold");
  int no = 0;
  check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no),
             "setting the memory pool's reuse");
}

std::unique_ptr<Lane> make_lane() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  auto lane = std::make_unique<Lane>();
  lane->stream = stream;
  return lane;
}

}  // namespace

void check_cuda(int error, std::string_view doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // told here: else the next launch would be blamed
  throw CudaError(std::string(doing) + ": " + cudaGetErrorString(static_cast<cudaError_t>(error)));
}

int num_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // else the next call would be blamed
  return 0;
}

std::string why_no_cuda() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  const std::string what = "this machine has no GPU that CUDA can use: ";
  if (driver_version() == 0) return what + "no NVIDIA driver is installed";
  return what + (error == cudaSuccess ? "none is visible" : cudaGetErrorString(error));
}

std::string cuda_version() {
  const int driver = driver_version();
  return version_text(CUDART_VERSION) +
         (driver > 0 ? ", driver " + version_text(driver) : ", no driver");
}

std::vector<GpuName> gpu_names() {
  constexpr const char* kDigits = "0123456789abcdef";
  std::vector<GpuName> names;
  for (int ordinal = 0; ordinal < num_gpus(); ++ordinal) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, ordinal), "asking for a GPU's name");
    GpuName name{.model = properties.name, .id = ""};
    for (const char byte : properties.uuid.bytes) {
      const auto value = static_cast<unsigned char>(byte);
      name.id += {kDigits[value >> 4U], kDigits[value & 15U]};
    }
    names.push_back(std::move(name));
  }
  return names;
}

Gpu::Gpu(int ordinal) : ordinal_(ordinal) {
  if (const std::string why = why_no_cuda(); !why.empty()) throw UsageError(why);
  if (ordinal < 0 || ordinal >= num_gpus()) {
    throw UsageError("there is no GPU " + std::to_string(ordinal) + "; this process sees " +
                     std::to_string(num_gpus()));
  }
  enter();
  set_up_pool(ordinal);
}

Gpu::~Gpu() {
  cudaSetDevice(ordinal_);
  for (const auto& lane : lanes_) {
    lane->products.reset();
    cudaStreamDestroy(static_cast<cudaStream_t>(lane->stream));
  }
}

void Gpu::enter() const { check_cuda(cudaSetDevice(ordinal_), "choosing the GPU"); }

Lane& Gpu::take_lane() {
  const std::lock_guard guard(mutex_);
  if (free_lanes_.empty()) {
    enter();
    lanes_.push_back(make_lane());
    free_lanes_.push_back(lanes_.back().get());
  }
  Lane& lane = *free_lanes_.back();
  free_lanes_.pop_back();
  return lane;
}

void Gpu::give_back(Lane& lane) {
  const std::lock_guard guard(mutex_);
  free_lanes_.push_back(&lane);
}

bool Gpu::is_lost() const {
  return cudaSetDevice(ordinal_) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}

}  // namespace lockstep
