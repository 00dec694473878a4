// One coordinator and one crew, kept as long as the runner is.
#include "matrix/crew/gloo_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "matrix/crew/crew.h"
#include "matrix/crew/launched_seats.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {
namespace {

constexpr const char* kThisHost = "127.0.0.1";
// A trial may last half the time limit, and several followers be silent after it.
constexpr double kPatiencePart = 1.0 / 16.0;
constexpr std::chrono::milliseconds kLongestPatience{20000};

std::unique_ptr<Seats> make_seats(backends::Coordinator& coordinator,
                                  const GlooRanksOptions& options) {
  const bool launched = options.num_processes > 0;
  const std::vector<std::string> command = rank_command(
      options.program, launched ? options.host : kThisHost, coordinator.port(), options.timeout_s);
  if (!launched) return std::make_unique<LocalSeats>(command);
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(options.timeout_s * kPatiencePart));
  return std::make_unique<LaunchedSeats>(
      coordinator,
      LaunchedSeats::Options{.command = command,
                             .num_processes = options.num_processes,
                             .patience = std::min(kLongestPatience, patience)});
}

struct GlooRanks {
  explicit GlooRanks(const GlooRanksOptions& options)
      : coordinator({.listening = options.listening, .host = kThisHost}),
        seats(make_seats(coordinator, options)),
        crew(coordinator, *seats, options.timeout_s) {}

  backends::Coordinator coordinator;
  std::unique_ptr<Seats> seats;
  Crew crew;
};

}  // namespace

std::vector<std::string> rank_command(const std::string& program,
                                      const std::string& host,
                                      int port,
                                      double timeout_s) {
  return {program,
          "rank",
          "--coordinator",
          fmt::format("{}:{}", host, port),
          "--timeout",
          fmt::format("{:g}", timeout_s)};
}

TrialRunner gloo_ranks(const GlooRanksOptions& options) {
  const auto ranks = std::make_shared<GlooRanks>(options);
  return {.comm = "gloo", .why_not = why_no_crew, .run = [ranks](const Case& c) {
            return ranks->crew.run(c);
          }};
}

}  // namespace lockstep::matrix
