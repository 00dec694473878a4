// A rank's work over Gloo: Gloo's connections are kept, the device is the trial's.
#include <chrono>
#include <memory>
#include <string>

#include "backends/gloo/transport.h"
#include "core/config/case_json.h"
#include "core/tensor/cpu_device.h"
#include "matrix/crew/rank_result_bytes.h"
#include "matrix/crew/seat_work.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {
namespace {

std::string run_order(const Program& program,
                      backends::CoordinatorClient& client,
                      backends::GlooConnections& connections,
                      const backends::TrialOrder& order) {
  const Case c = case_from_json(order.request);
  const Mesh mesh(c.layout);
  const sim::TrialSetup setup = sim::make_edited_setup(c);
  CpuDevice device;
  RankResult result;
  const std::unique_ptr<Transport> transport =
      backends::make_gloo_transport(client, connections, order);
  program({.rank = order.rank, .mesh = mesh, .c = c, .setup = setup, .device = device},
          *transport,
          result);
  return to_bytes(result);
}

}  // namespace

MakeSeatWork gloo_work(double timeout_s, const Program& program) {
  return [timeout_s, program](backends::CoordinatorClient& client) -> SeatWork {
    const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(timeout_s));
    const auto connections = std::make_shared<backends::GlooConnections>(
        client,
        backends::GlooConnections::Options{.address = client.local_address(), .timeout = timeout});
    return [program, &client, connections](const backends::TrialOrder& order) {
      return run_order(program, client, *connections, order);
    };
  };
}

}  // namespace lockstep::matrix
