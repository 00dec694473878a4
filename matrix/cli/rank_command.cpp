// `lockstep rank`: the process of one rank, or over NCCL of a host's ranks; started by the command,
// not by people.
#include <limits>

#include "backends/nccl/transport.h"
#include "core/base/errors.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/ranks_option.h"
#include "matrix/cli/values.h"
#include "matrix/crew/host_process.h"
#include "matrix/crew/nccl_work.h"
#include "matrix/crew/rank_process.h"
#include "matrix/sweep/worker_pool.h"

namespace lockstep::matrix {
namespace {

constexpr std::int64_t kLargestPort = 65535;

backends::CoordinatorAddress address_option(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw UsageError("--coordinator: expected HOST:PORT, got '" + text + "'");
  }
  return {.host = text.substr(0, colon),
          .port = static_cast<int>(
              integer_option("--coordinator", text.substr(colon + 1), 1, kLargestPort))};
}

}  // namespace

int rank_command(const Arguments& arguments) {
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  const backends::CoordinatorAddress coordinator = address_option(arguments.coordinator);
  const double timeout_s = timeout_option(arguments);
  // Before anything touches CUDA.
  if (arguments.share_gpus) backends::let_ranks_share_gpus();
  check_backends(arguments);
  if (arguments.comm == "nccl") host_seats(coordinator, nccl_work(timeout_s));
  const backends::SeatId id{
      .seat = static_cast<int>(integer_option("--seat", arguments.seat, 0, kLargest)),
      .generation = static_cast<std::uint64_t>(
          integer_option("--generation", arguments.generation, 0, kLargest))};
  try {
    serve_rank(coordinator, id, gloo_work(timeout_s));
    return 0;
  } catch (const backends::ConnectionLost& error) {
    throw LaunchError(error.what());
  }
}

}  // namespace lockstep::matrix
