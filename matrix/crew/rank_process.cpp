// Connects, then runs the rank's program for each order.
#include "matrix/crew/rank_process.h"

#include <sys/prctl.h>

#include <csignal>
#include <memory>
#include <string>

#include "backends/gloo/transport.h"
#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/tensor/cpu_device.h"
#include "matrix/crew/rank_result_bytes.h"
#include "simulator/defects/defect.h"
#include "simulator/runtime/rank_program.h"

namespace lockstep::matrix {
namespace {

// An interrupt of the terminal reaches the whole process group, but ending ranks is the business of
// whoever started them; none may outlive it.
void bind_to_parent() {
  std::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

std::string run_program(const RankProcessOptions& options,
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
  options.program({.rank = order.rank, .mesh = mesh, .c = c, .setup = setup, .device = device},
                  *transport,
                  result);
  return to_bytes(result);
}

}  // namespace

int serve_ranks(const RankProcessOptions& options) {
  bind_to_parent();
  backends::CoordinatorClient client(
      {.address = options.coordinator, .seat = options.seat, .generation = options.generation});
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(options.timeout_s));
  backends::GlooConnections connections(client,
                                        {.address = client.local_address(), .timeout = timeout});
  while (const std::optional<backends::TrialOrder> order = client.next_trial()) {
    try {
      client.returned(run_program(options, client, connections, *order));
    } catch (const RankCancelled&) {
      client.cancelled();
    } catch (const backends::ConnectionLost&) {
      return 0;
    } catch (const std::exception& error) {
      client.threw(error.what());
    }
  }
  return 0;
}

}  // namespace lockstep::matrix
