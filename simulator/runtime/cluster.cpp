// Puts a runner and the in-process backend together; the root under which every rank runs.
#include "simulator/runtime/cluster.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include "backends/inprocess/rendezvous.h"
#include "core/base/errors.h"
#include "core/tensor/cpu_device.h"
#include "core/tensor/cuda/cuda_device.h"
#include "simulator/runtime/rank_runner.h"

namespace lockstep::sim {
namespace {

std::string current_exception_type() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "unknown";
  int status = 0;
  char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? readable : type->name();
  std::free(readable);
  return name;
}

// CUDA and cuBLAS do not say how much of a stack they take: they load kernels and make handles when
// a rank first needs them.
std::unique_ptr<RankRunner> make_runner(const ClusterOptions& options) {
  constexpr std::size_t kGpuStackBytes = 4 * kRankStackBytes;
  switch (options.host) {
    case RankHost::kFibers:
      return make_fiber_runner(options.schedule_seed,
                               options.gpu == nullptr ? kRankStackBytes : kGpuStackBytes);
    case RankHost::kThreads:
      return make_thread_runner();
  }
  throw InternalError("unknown host of ranks");
}

enum class RankEnd { kReturned, kCancelled, kThrew };

struct RankOutcome {
  RankEnd end = RankEnd::kReturned;
  std::string error;
};

// `gpu`: what the rank computes on, null for the CPU. What a GPU has been given may fail only once
// the program has returned.
RankOutcome run_rank(Rank rank,
                     Transport& transport,
                     CudaDevice* gpu,
                     const std::function<void(RankSeat&)>& program) {
  CpuDevice cpu;
  Device& device = gpu == nullptr ? static_cast<Device&>(cpu) : *gpu;
  RankSeat seat{.rank = rank, .transport = transport, .device = device};
  try {
    program(seat);
    if (gpu != nullptr) gpu->finish();
    return {};
  } catch (const RankCancelled&) {
    return {.end = RankEnd::kCancelled, .error = {}};
  } catch (const std::exception& error) {
    return {.end = RankEnd::kThrew, .error = error.what()};
  } catch (...) {  // the root of a rank: nothing a program throws may go further
    return {
        .end = RankEnd::kThrew,
        .error = "an object of type " + current_exception_type() + ", which is no std::exception"};
  }
}

// A device for each rank, on the one GPU; none where they compute on the CPU. Each has its first
// stream before it runs: to make one may wait for all that is under way.
std::vector<std::unique_ptr<CudaDevice>> make_devices(Gpu* gpu, int num_ranks) {
  std::vector<std::unique_ptr<CudaDevice>> devices;
  for (int i = 0; gpu != nullptr && i < num_ranks; ++i) {
    devices.push_back(std::make_unique<CudaDevice>(*gpu));
    devices.back()->native_stream({});
  }
  return devices;
}

std::unique_ptr<backends::Mover> make_mover(
    const std::vector<std::unique_ptr<CudaDevice>>& devices) {
  if (devices.empty()) return backends::make_host_mover();
  std::vector<CudaDevice*> of_ranks;
  for (const auto& device : devices) of_ranks.push_back(device.get());
  return backends::make_cuda_mover(std::move(of_ranks));
}

}  // namespace

ClusterReport run_cluster(const Mesh& mesh,
                          const ClusterOptions& options,
                          const std::function<void(RankSeat&)>& program) {
  const std::unique_ptr<RankRunner> runner = make_runner(options);
  const auto devices = make_devices(options.gpu, mesh.world());
  const std::unique_ptr<backends::Mover> mover = make_mover(devices);
  backends::Rendezvous rendezvous(mesh,
                                  {.reduction_order = options.reduction_order,
                                   .completion = options.completion,
                                   .schedule_seed = options.schedule_seed},
                                  *runner,
                                  *mover);
  runner->run(mesh.world(),
              {.body =
                   [&](Rank rank) {
                     CudaDevice* const gpu =
                         devices.empty() ? nullptr
                                         : devices[static_cast<std::size_t>(rank.value)].get();
                     RankOutcome outcome = run_rank(rank, rendezvous, gpu, program);
                     switch (outcome.end) {
                       case RankEnd::kReturned:
                         return rendezvous.rank_returned(rank);
                       case RankEnd::kCancelled:
                         return rendezvous.rank_cancelled(rank);
                       case RankEnd::kThrew:
                         return rendezvous.rank_threw(rank, std::move(outcome.error));
                     }
                   },
               .all_wait = [&] { rendezvous.all_wait(); }});
  return {.findings = rendezvous.findings(),
          .num_calls = rendezvous.num_calls(),
          .num_matched = rendezvous.num_matched()};
}

}  // namespace lockstep::sim
