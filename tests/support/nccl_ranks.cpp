// What a thread keeps from trial to trial over NCCL: its communicators.
#include "tests/support/nccl_ranks.h"

#include <algorithm>
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

std::string why_not(const NcclRanksOptions& options) {
  return options.one_rank_a_gpu ? backends::why_no_nccl(1) : prepare_nccl_ranks();
}

}  // namespace

SeenGpus::SeenGpus() {
  const int num_seen = std::max(1, num_gpus());  // of none, the first says what is missing
  for (int ordinal = 0; ordinal < num_seen; ++ordinal) {
    gpus_.push_back(std::make_unique<Gpu>(ordinal));
  }
}

std::string prepare_nccl_ranks() {
  backends::let_ranks_share_gpus();
  return backends::why_no_nccl(backends::kMaxRanksPerGpu);
}

backends::TrialOutcome run_nccl_ranks(const Layout& layout,
                                      const Program& program,
                                      const NcclRanksOptions& options) {
  if (const std::string why = why_not(options); !why.empty()) throw UsageError(why);
  const Mesh mesh(layout);
  LOCKSTEP_CHECK(!options.one_rank_a_gpu || mesh.world() <= num_gpus(),
                 std::to_string(mesh.world()) + " ranks have " + std::to_string(num_gpus()) +
                     " GPUs, which is not one each");
  std::optional<SeenGpus> own_gpus;
  SeenGpus& gpus = options.gpus != nullptr ? *options.gpus : own_gpus.emplace();
  backends::NcclProcess process;
  const MakeServer make_server = [&](backends::CoordinatorClient& client, int seat) -> ServeOrder {
    const auto own = std::make_shared<OwnProcess>();
    Gpu& shared = gpus.of(seat);
    Gpu& its_gpu = options.apart ? own->gpu.emplace(shared.ordinal()) : shared;
    const auto connections = std::make_shared<backends::NcclConnections>(
        options.apart ? own->process : process,
        client,
        its_gpu,
        backends::NcclConnections::Options{.timeout = options.timeout,
                                           .shares_gpu = !options.one_rank_a_gpu});
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
