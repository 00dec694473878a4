// What a thread keeps from trial to trial over Gloo: its connections.
#include "tests/support/gloo_ranks.h"

#include <memory>

#include "backends/gloo/transport.h"
#include "core/tensor/cpu_device.h"

namespace lockstep::test {
namespace {

using Program = std::function<void(TestRank&)>;

}  // namespace

backends::TrialOutcome run_gloo_ranks(const Layout& layout,
                                      const Program& program,
                                      const GlooRanksOptions& options) {
  const Mesh mesh(layout);
  const MakeServer make_server = [&](backends::CoordinatorClient& client, int) -> ServeOrder {
    const auto connections = std::make_shared<backends::GlooConnections>(
        client, backends::GlooConnections::Options{.timeout = options.timeout});
    return [&, connections](const backends::TrialOrder& order) {
      const auto transport = backends::make_gloo_transport(client, *connections, order);
      CpuDevice device;
      TestRank rank{.rank = order.rank, .transport = *transport, .device = device, .mesh = mesh};
      program(rank);
    };
  };
  return run_coordinated_ranks(mesh,
                               make_server,
                               {.stall = options.stall,
                                .num_trials = options.num_trials,
                                .past_findings = options.past_findings});
}

backends::TrialOutcome run_gloo_ranks(int tp,
                                      const Program& program,
                                      const GlooRanksOptions& options) {
  return run_gloo_ranks(layout_of({.tp = tp}), program, options);
}

}  // namespace lockstep::test
