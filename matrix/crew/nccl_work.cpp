// A rank's work over NCCL: the process' GPUs and a seat's communicators are kept, the device is the
// trial's.
#include "matrix/crew/nccl_work.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "backends/nccl/transport.h"
#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/ops/cuda/kernels.h"
#include "core/tensor/cuda/cuda_device.h"
#include "matrix/crew/rank_result_bytes.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {
namespace {

// What all seats of this process share.
class HostGpus {
 public:
  Gpu& at(int ordinal) {
    const std::lock_guard guard(mutex_);
    std::unique_ptr<Gpu>& gpu = gpus_[ordinal];
    if (gpu == nullptr) gpu = std::make_unique<Gpu>(ordinal);
    return *gpu;
  }
  backends::NcclProcess& process() { return process_; }

 private:
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Gpu>> gpus_;
  backends::NcclProcess process_;
};

// A seat's, for each GPU that it has used, alone or with others.
class SeatConnections {
 public:
  SeatConnections(HostGpus& host,
                  backends::CoordinatorClient& client,
                  std::chrono::milliseconds timeout)
      : host_(host), client_(client), timeout_(timeout) {}

  backends::NcclConnections& of(Gpu& gpu, bool shares_gpu) {
    std::unique_ptr<backends::NcclConnections>& kept = kept_[{gpu.ordinal(), shares_gpu}];
    if (kept == nullptr) {
      kept = std::make_unique<backends::NcclConnections>(
          host_.process(),
          client_,
          gpu,
          backends::NcclConnections::Options{.timeout = timeout_, .shares_gpu = shares_gpu});
    }
    return *kept;
  }
  backends::CoordinatorClient& client() { return client_; }

 private:
  HostGpus& host_;
  backends::CoordinatorClient& client_;
  std::chrono::milliseconds timeout_;
  std::map<std::pair<int, bool>, std::unique_ptr<backends::NcclConnections>> kept_;
};

std::string run_order(const Program& program,
                      HostGpus& host,
                      SeatConnections& connections,
                      const backends::TrialOrder& order) {
  const auto [gpus, c] = nccl_request_from_text(order.request);
  Gpu& gpu = host.at(gpus.ordinals.at(static_cast<std::size_t>(order.rank.value)));
  const Mesh mesh(c.layout);
  const sim::TrialSetup setup = sim::make_edited_setup(c, cuda_kernels());
  CudaDevice device(gpu);
  RankResult result;
  const std::unique_ptr<Transport> transport =
      backends::make_nccl_transport(connections.client(),
                                    connections.of(gpu, gpus.most_ranks_on_one > 1),
                                    {.order = order, .mesh = mesh, .device = device});
  program({.rank = order.rank, .mesh = mesh, .c = c, .setup = setup, .device = device},
          *transport,
          result);
  // What a kernel does wrong is this trial's, not the next one's.
  device.finish();
  return to_bytes(result);
}

}  // namespace

std::string to_text(const NcclRequest& request) {
  return to_text(request.gpus) + "\n" + case_to_json(request.c);
}

NcclRequest nccl_request_from_text(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) throw UsageError("not a trial over NCCL: one line");
  return {.gpus = gpu_plan_from_text(text.substr(0, end)),
          .c = case_from_json(text.substr(end + 1))};
}

MakeSeatWork nccl_work(double timeout_s, const Program& program) {
  const auto host = std::make_shared<HostGpus>();
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(timeout_s));
  return [host, timeout, program](backends::CoordinatorClient& client) -> SeatWork {
    const auto connections = std::make_shared<SeatConnections>(*host, client, timeout);
    return [host, program, connections](const backends::TrialOrder& order) {
      return run_order(program, *host, *connections, order);
    };
  };
}

}  // namespace lockstep::matrix
