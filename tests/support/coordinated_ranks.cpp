// Threads that serve trials until the coordinator goes.
#include "tests/support/coordinated_ranks.h"

#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

void serve_trials(backends::CoordinatorClient& client, const ServeOrder& serve) {
  while (const std::optional<backends::TrialOrder> order = client.next_trial()) {
    try {
      serve(*order);
      client.returned({});
    } catch (const EndsWithoutAWord&) {
      return;
    } catch (const RankCancelled&) {
      return client.cancelled();
    } catch (const backends::ConnectionLost&) {
      return;
    } catch (const std::exception& error) {
      client.threw(error.what());
    }
  }
}

void serve(const MakeServer& make_server, const backends::CoordinatorClient::Options& options) {
  try {
    backends::CoordinatorClient client(options);
    const ServeOrder server = make_server(client, options.seat);
    serve_trials(client, server);
  } catch (const std::exception&) {
    // The coordinator is gone, or hears of this rank's end by its line.
  }
}

}  // namespace

backends::TrialOutcome run_coordinated_ranks(const Mesh& mesh,
                                             const MakeServer& make_server,
                                             const CoordinatedOptions& options) {
  std::vector<std::jthread> threads;  // joined after the coordinator is gone
  backends::Coordinator coordinator({});
  std::vector<backends::SeatId> seats;
  for (int seat = 0; seat < mesh.world(); ++seat) {
    seats.push_back({.seat = seat, .generation = 1});
    threads.emplace_back([&make_server, seat, port = coordinator.port()] {
      serve(make_server,
            {.address = {.host = "127.0.0.1", .port = port}, .seat = seat, .generation = 1});
    });
  }
  const bool all_here =
      coordinator.wait_for_seats(seats, std::chrono::seconds(20), [] { return false; });
  LOCKSTEP_CHECK(all_here, "a rank's thread has not reached the coordinator");
  const std::vector<int> one_process(seats.size(), 0);
  backends::TrialOutcome outcome;
  for (int trial = 0; trial < options.num_trials; ++trial) {
    if (!outcome.findings.empty() && !options.past_findings) break;
    outcome = coordinator.run(
        mesh,
        seats,
        {},
        {.stall = options.stall},
        [](const backends::SeatId&) { return "its thread ended"; },
        options.one_process ? one_process : std::vector<int>{});
  }
  return outcome;
}

std::string to_text(const backends::TrialOutcome& outcome) {
  std::string text;
  for (const backends::Finding& finding : outcome.findings) text += finding.message + "\n\n";
  return text;
}

}  // namespace lockstep::test
