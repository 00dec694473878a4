// Threads that serve ranks as processes do, and a coordinator in the caller's thread.
#include "tests/support/gloo_ranks.h"

#include <exception>
#include <thread>
#include <vector>

#include "backends/coordinator/client.h"
#include "backends/gloo/transport.h"
#include "core/base/errors.h"
#include "core/tensor/cpu_device.h"

namespace lockstep::test {
namespace {

using Program = std::function<void(TestRank&)>;

struct Served {
  const Mesh& mesh;
  const Program& program;
  std::chrono::milliseconds timeout;
};

void run_program(const Served& served,
                 backends::CoordinatorClient& client,
                 backends::GlooConnections& connections,
                 const backends::TrialOrder& order) {
  const auto transport = backends::make_gloo_transport(client, connections, order);
  CpuDevice device;
  TestRank rank{.rank = order.rank, .transport = *transport, .device = device, .mesh = served.mesh};
  served.program(rank);
}

// Until nothing more comes. A rank that was told that its trial is over leaves, as its process
// would be ended: its connections close, which frees those that are in the midst of a transfer.
void serve_trials(const Served& served, const backends::CoordinatorClient::Options& options) {
  backends::CoordinatorClient client(options);
  backends::GlooConnections connections(client, {.timeout = served.timeout});
  while (const std::optional<backends::TrialOrder> order = client.next_trial()) {
    try {
      run_program(served, client, connections, *order);
      client.returned({});
    } catch (const RankCancelled&) {
      return client.cancelled();
    } catch (const backends::ConnectionLost&) {
      return;
    } catch (const std::exception& error) {
      client.threw(error.what());
    }
  }
}

void serve(const Served& served, const backends::CoordinatorClient::Options& options) {
  try {
    serve_trials(served, options);
  } catch (const std::exception&) {
    // The coordinator is gone, or hears of this rank's end by its line.
  }
}

}  // namespace

backends::TrialOutcome run_gloo_ranks(const Layout& layout,
                                      const Program& program,
                                      const GlooRanksOptions& options) {
  const Mesh mesh(layout);
  const Served served{.mesh = mesh, .program = program, .timeout = options.timeout};
  std::vector<std::jthread> threads;  // joined after the coordinator is gone
  backends::Coordinator coordinator({});
  std::vector<backends::SeatId> seats;
  for (int seat = 0; seat < mesh.world(); ++seat) {
    seats.push_back({.seat = seat, .generation = 1});
    threads.emplace_back([&served, seat, port = coordinator.port()] {
      serve(served,
            {.address = {.host = "127.0.0.1", .port = port}, .seat = seat, .generation = 1});
    });
  }
  const bool all_here =
      coordinator.wait_for_seats(seats, std::chrono::seconds(20), [] { return false; });
  LOCKSTEP_CHECK(all_here, "a rank's thread has not reached the coordinator");
  backends::TrialOutcome outcome;
  for (int trial = 0; trial < options.num_trials; ++trial) {
    if (!outcome.findings.empty() && !options.past_findings) break;
    outcome =
        coordinator.run(mesh, seats, {}, {.stall = options.stall}, [](const backends::SeatId&) {
          return "its thread ended";
        });
  }
  return outcome;
}

backends::TrialOutcome run_gloo_ranks(int tp,
                                      const Program& program,
                                      const GlooRanksOptions& options) {
  return run_gloo_ranks(layout_of({.tp = tp}), program, options);
}

std::string to_text(const backends::TrialOutcome& outcome) {
  std::string text;
  for (const backends::Finding& finding : outcome.findings) text += finding.message + "\n\n";
  return text;
}

}  // namespace lockstep::test
