// The NCCL backend: ranks are threads, one or several on a GPU, of one process or of many on many
// hosts. Data moves by NCCL on a stream of the rank's own beside those on which it computes.
//
// As over Gloo no call reaches NCCL before the coordinator has seen that all members make the same
// one, and members enqueue in one order; those of one process meet and enqueue together (process.h
// says why). A wait enqueues what is due and makes the stream wait; the host waits for the GPU only
// where the program reads from it. All ranks get equal bits of a reduction.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "backends/coordinator/client.h"
#include "core/comm/communicator.h"
#include "core/comm/mesh.h"
#include "core/tensor/cuda/cuda_device.h"

namespace lockstep::backends {

// NCCL failed, or what it had begun did not end: one sentence with what was under way.
class NcclError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the rank threads of one process share: they meet for each call and enqueue it together.
class NcclProcess {
 public:
  struct Impl;

  NcclProcess();
  ~NcclProcess();
  NcclProcess(const NcclProcess&) = delete;
  NcclProcess& operator=(const NcclProcess&) = delete;

  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// One rank's NCCL communicators, kept from trial to trial: the world's for each set of processes,
// and those split from it for each way in which a mesh cuts it into groups. Process, client and
// GPU outlive what is made from them.
class NcclConnections {
 public:
  struct Impl;

  struct Options {
    std::chrono::milliseconds timeout{60000};  // ends work that does not move
    // Ranks share GPUs: each uses one channel, or those that wait for each other fill the GPU.
    bool shares_gpu = false;
  };
  NcclConnections(NcclProcess& process,
                  CoordinatorClient& client,
                  Gpu& gpu,
                  const Options& options);
  ~NcclConnections();

  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// What a rank's transport is made for: all of it outlives it.
struct NcclTrial {
  const TrialOrder& order;
  const Mesh& mesh;
  CudaDevice& device;  // on the connections' GPU; gets a watch that ends waits for NCCL
};
// To be destroyed before the client tells of the program's end, and before the device.
std::unique_ptr<Transport> make_nccl_transport(CoordinatorClient& client,
                                               NcclConnections& connections,
                                               const NcclTrial& trial);

// How this backend does a call: what its transports answer.
Support nccl_support(const CallType& type);

// The most ranks that may share one GPU.
inline constexpr int kMaxRanksPerGpu = 16;

// Empty where the NCCL that this process has found can serve so many ranks on one GPU; else one
// sentence.
std::string why_no_nccl(int ranks_per_gpu);
// "2.30.7", "2.30.7, built with 2.28.9" where that differs, or "not in this build".
std::string nccl_version();

// To be called once, before anything else of NCCL or CUDA and before other threads start: lets
// ranks share a GPU, by variables of this process's environment that are not set yet; NCCL_MAX_CTAS
// it sets in any case, for with another value ranks may wait for each other for ever. Returns what
// was set, "NCCL_MULTI_RANK_GPU_ENABLE=1 ...", to be told; empty for nothing.
std::string let_ranks_share_gpus();

}  // namespace lockstep::backends
