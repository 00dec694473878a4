// One GPU of this process: its memory pool and its lanes, which outlive the devices made on it.
//
// No CUDA type shows here: a build without CUDA has the same functions, which say so.
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/cuda/launch_gate.h"

namespace lockstep {

// A call of CUDA failed, or work on the GPU did: one sentence with what was under way.
class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Empty where this build has CUDA and this machine a GPU; else one sentence that says what is
// missing.
std::string why_no_cuda();
// "13.0, driver 13.0", "13.0, no driver", or "not in this build".
std::string cuda_version();
// That this process sees; 0 without CUDA.
int num_gpus();

struct GpuName {
  std::string model;  // "NVIDIA H200"
  std::string id;     // hexadecimal digits; the same for whoever sees the GPU, on whatever host
};
// By ordinal; none without CUDA.
std::vector<GpuName> gpu_names();

// An ordered queue of work, and what the kernels of products keep for it (a handle of cuBLAS):
// never used apart, so that its workspace has one user.
struct Lane {
  void* stream = nullptr;  // cudaStream_t
  std::shared_ptr<void> products = {};
};

class Gpu {
 public:
  // UsageError where there is no such GPU.
  explicit Gpu(int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  int ordinal() const { return ordinal_; }

  // Makes it the one that the calling thread's CUDA calls mean.
  void enter() const;
  // What is passed by whoever may wait for the whole GPU: to run a kernel, to take memory or to
  // give communicators up. Closed while a collective is enqueued.
  LaunchGate& gate() { return gate_; }
  // One that nobody else uses. Given back, work may still be under way on it.
  Lane& take_lane();
  void give_back(Lane& lane);

  // A fault of a kernel ends all that this process can do on its GPUs.
  bool is_lost() const;

 private:
  int ordinal_;
  LaunchGate gate_;
  std::mutex mutex_;
  std::vector<Lane*> free_lanes_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

// CudaError where `error`, a cudaError_t, is one: "DOING: out of memory".
void check_cuda(int error, std::string_view doing);

}  // namespace lockstep
