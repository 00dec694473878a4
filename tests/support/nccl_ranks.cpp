// What a thread keeps from trial to trial over NCCL: its communicators.
#include "tests/support/nccl_ranks.h"

#include <memory>
#include <optional>

#include "backends/nccl/transport.h"
#include "core/base/errors.h"

namespace lockstep::test {
namespace {

using Program = std::function<void(TestRank&)>;

// What a rank that is served apart shares with no other.
struct OwnProcess {
  std::optional<Gpu> gpu;
  backends::NcclProcess process;
};

}  // namespace

std::string prepare_nccl_ranks() {
  backends::let_ranks_share_gpus();
  return backends::why_no_nccl(backends::kMaxRanksPerGpu);
}

backends::TrialOutcome run_nccl_ranks(const Layout& layout,
                                      const Program& program,
                                      const NcclRanksOptions& options) {
  if (const std::string why = prepare_nccl_ranks(); !why.empty()) throw UsageError(why);
  const Mesh mesh(layout);
  std::optional<Gpu> own_gpu;
  Gpu& gpu = options.gpu != nullptr ? *options.gpu : own_gpu.emplace(0);
  backends::NcclProcess process;
  const MakeServer make_server = [&](backends::CoordinatorClient& client) -> ServeOrder {
    const auto own = std::make_shared<OwnProcess>();
    Gpu& its_gpu = options.apart ? own->gpu.emplace(0) : gpu;
    const auto connections = std::make_shared<backends::NcclConnections>(
        options.apart ? own->process : process,
        client,
        its_gpu,
        backends::NcclConnections::Options{.timeout = options.timeout, .shares_gpu = true});
    return [&, own, connections](const backends::TrialOrder& order) {
      CudaDevice device(its_gpu);
      const auto transport = backends::make_nccl_transport(
          client, *connections, {.order = order, .mesh = mesh, .device = device});
      TestRank rank{.rank = order.rank, .transport = *transport, .device = device, .mesh = mesh};
      program(rank);
      device.finish();
    };
  };
  return run_coordinated_ranks(mesh,
                               make_server,
                               {.stall = options.stall,
                                .num_trials = options.num_trials,
                                .past_findings = options.past_findings,
                                .one_process = !options.apart});
}

backends::TrialOutcome run_nccl_ranks(int tp,
                                      const Program& program,
                                      const NcclRanksOptions& options) {
  return run_nccl_ranks(layout_of({.tp = tp}), program, options);
}

}  // namespace lockstep::test
