// Leads or follows, by the place that the environment gives.
#include "matrix/cli/launched.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include "backends/coordinator/client.h"
#include "backends/coordinator/coordinator.h"
#include "core/base/errors.h"
#include "matrix/cli/gpu_options.h"
#include "matrix/cli/output.h"
#include "matrix/cli/ranks_option.h"
#include "matrix/crew/crew_ranks.h"
#include "matrix/crew/follower.h"
#include "matrix/crew/launched_seats.h"
#include "matrix/crew/orders.h"
#include "matrix/launch/place.h"
#include "matrix/sweep/worker_pool.h"

namespace lockstep::matrix {
namespace {

constexpr int kInterrupted = 130;  // exit code
// How long rank 0 tries to reach itself: the name of its host may just be on its way.
constexpr std::chrono::seconds kOwnPatience{5};
// Whoever interrupts has most likely interrupted the followers too.
constexpr std::chrono::seconds kPatienceOfInterrupted{2};

// Only this host's processes can reach a loopback address; other hosts' come from anywhere.
std::string listening_host(const std::string& host) {
  if (host == "::1") return host;
  if (host.find(':') != std::string::npos) return "::";
  const bool is_loopback = host.starts_with("127.") || host == "localhost";
  return is_loopback ? "127.0.0.1" : "0.0.0.0";
}

// The socket at which followers and ranks arrive. It outlives the coordinators that serve it: each
// worker has one in turn, and the last one is this process'.
class Listening {
 public:
  explicit Listening(const Place& place)
      : socket_(backends::listen_on(listening_host(place.host), place.port)) {}
  ~Listening() { ::close(socket_); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  // A descriptor that a worker inherits.
  int inheritable() const { return ::fcntl(socket_, F_DUPFD, STDERR_FILENO + 1); }
  int own() const { return ::fcntl(socket_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); }

 private:
  int socket_;
};

void dismiss_followers(const Place& place, const Listening& listening, bool interrupted) {
  backends::Coordinator coordinator({.listening = listening.own()});
  LaunchedSeats::Options options{.command = {}, .num_processes = place.num_processes};
  if (interrupted) options.patience = kPatienceOfInterrupted;
  LaunchedSeats seats(coordinator, options);
  if (!seats.say_goodbye() && !interrupted) {
    print_error("note: not every process that " + place.launcher + " started has come");
  }
}

// Its own ranks come by that address as all others do.
void expect_own_address(const Place& place) {
  try {
    backends::expect_listener({.host = place.host, .port = place.port}, kOwnPatience);
  } catch (const backends::ConnectionLost& error) {
    throw LaunchError("rank 0 cannot reach itself, as " + std::string(error.what()) +
                      "; MASTER_ADDR must be an address of rank 0's host");
  }
}

// By the environment, unless the command was told what started it.
std::optional<Place> place_asked_for(const std::string& launcher) {
  if (launcher == "local") return std::nullopt;
  std::optional<Place> place = plan_place(own_environment());
  if (launcher.empty()) return place;
  const std::string starter = launcher == "slurm" ? "srun" : launcher;
  if (place && place->launcher == starter) return place;
  throw UsageError("--launcher " + launcher + ": this command was not started by " + starter +
                   "; expected a start as in '" + starter + " -n 2 lockstep ...'");
}

int lead_others(const Place& place,
                const Arguments& arguments,
                const std::function<int(const Arguments&)>& lead) {
  const Listening listening(place);
  expect_own_address(place);
  Arguments leading = arguments;
  leading.processes = std::to_string(place.num_processes);
  leading.launcher = place.launcher;
  leading.host = place.host;
  leading.listening = std::to_string(listening.inheritable());
  try {
    const int code = lead(leading);
    dismiss_followers(place, listening, code == kInterrupted);
    return code;
  } catch (const std::exception&) {
    dismiss_followers(place, listening, false);
    throw;
  }
}

}  // namespace

int on_leader(const Arguments& arguments, const std::function<int(const Arguments&)>& lead) {
  if (simulates(arguments)) return lead(arguments);
  const std::optional<Place> place = place_asked_for(arguments.asked_launcher);
  if (!place) return lead(arguments);
  // A wrong number is refused before anyone is waited for.
  const std::vector<std::string> gpus = gpus_option(arguments);
  try {
    if (place->rank == 0) return lead_others(*place, arguments, lead);
    const backends::CoordinatorAddress leader{.host = place->host, .port = place->port};
    follow({.process = place->rank,
            .coordinator = leader,
            .kind = arguments.comm == "nccl" ? SeatKind::kThreads : SeatKind::kProcesses,
            .command = rank_words(
                arguments.comm, own_program(), leader.host, leader.port, timeout_option(arguments)),
            .arrival = to_text(gpus)});
    return 0;
  } catch (const backends::ConnectionLost& error) {
    throw LaunchError(error.what());
  } catch (const backends::ListenError& error) {
    throw LaunchError(error.what());
  }
}

}  // namespace lockstep::matrix
