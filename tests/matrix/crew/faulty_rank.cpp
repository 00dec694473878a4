// Ranks of whom rank 1 goes wrong in its first generation, in a way named by the first argument: it
// disturbs one call of the real training program. Later generations are sound. The second argument
// says what serves seats: "process" (one, over Gloo), "threads" (of one process, over Gloo), or
// "gpu" (threads, over NCCL).
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/nccl/transport.h"
#include "matrix/crew/host_process.h"
#include "matrix/crew/nccl_work.h"
#include "matrix/crew/rank_process.h"
#include "tests/simulator/runtime/faulty_training.h"

namespace lockstep::test {
namespace {

using backends::CoordinatorClient;
using backends::SeatId;

constexpr const char* kLabel = "forward.reduce.decoder.layers.0.mlp.linear_fc2";
constexpr std::uint64_t kFaultyGeneration = 2;  // of rank 1, whose seat is the second to be taken

Disturbance disturbance(const std::string& fault) {
  const auto act = [](void (*action)()) {
    return [action](Communicator&, std::span<const CollectiveCall>, const CommunicatorsOfRank&) {
      action();
      return Ticket{};
    };
  };
  if (fault == "killed") return act([] { std::raise(SIGKILL); });
  if (fault == "frozen") {
    return act([] {
      std::raise(SIGSTOP);
      while (true) ::pause();
    });
  }
  if (fault == "gone") return act([] { std::_Exit(0); });
  // As where the line to the coordinator is lost: the seat's thread leaves and says nothing.
  if (fault == "silent_end") return act([] { throw backends::ConnectionLost("planted"); });
  if (fault == "idle") {
    return act([] {
      while (true) ::pause();
    });
  }
  if (fault == "throws") return throw_instead([] { throw std::runtime_error("out of luck"); });
  if (fault == "skips") return skip();
  if (fault == "another_kind") {
    return change([](CollectiveCall& call) { call.kind = CollectiveKind::kBroadcast; });
  }
  if (fault == "another_count") {
    return change([](CollectiveCall& call) { call.input.count = call.output.count -= 1; });
  }
  if (fault == "another_label") {
    return change([](CollectiveCall& call) { call.label = "forward.reduce.another"; });
  }
  std::abort();
}

struct Options {
  backends::CoordinatorAddress coordinator;
  SeatId seat;  // of a process
  double timeout_s;
};

Options options_from(const std::vector<std::string>& words) {
  std::map<std::string, std::string> value_of;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) value_of[words[i]] = words[i + 1];
  const std::string& coordinator = value_of.at("--coordinator");
  const std::size_t colon = coordinator.rfind(':');
  Options options{.coordinator = {.host = coordinator.substr(0, colon),
                                  .port = std::stoi(coordinator.substr(colon + 1))},
                  .seat = {},
                  .timeout_s = std::stod(value_of.at("--timeout"))};
  if (value_of.contains("--seat")) {
    options.seat = {.seat = std::stoi(value_of.at("--seat")),
                    .generation = std::stoull(value_of.at("--generation"))};
  }
  return options;
}

// Of rank 1 in its first trial of this process.
matrix::Program faulty_program(const std::string& fault) {
  const std::vector<TrainingFault> faults = {
      {.rank = 1, .label = kLabel, .occurrence = 1, .instead = disturbance(fault)}};
  return [faults](const sim::RankProgram& program, Transport& transport, RankResult& result) {
    const auto faulty = faulty_transport(transport, program.rank, faults);
    sim::run_rank_program(program, *faulty, result);
  };
}

bool has_fault(const std::string& fault) { return fault != "none" && fault != "late"; }

// What cannot even be made, as where a GPU has no memory left.
matrix::SeatWork no_work(CoordinatorClient& /*client*/) {
  throw std::runtime_error("nothing to work on");
}

// The process is started for its seat: by the generation it knows whether it goes wrong.
int serve_process(const std::string& fault, const Options& options) {
  const bool is_faulty = options.seat.generation == kFaultyGeneration;
  if (is_faulty && fault == "late") {
    while (true) ::pause();
  }
  matrix::serve_rank(options.coordinator,
                     options.seat,
                     is_faulty && has_fault(fault)
                         ? matrix::gloo_work(options.timeout_s, faulty_program(fault))
                         : matrix::gloo_work(options.timeout_s));
  return 0;
}

// Work whose first trial of all goes wrong, as the coordinator counts trials.
matrix::MakeSeatWork wrong_in_first_trial(const matrix::MakeSeatWork& sound,
                                          const matrix::MakeSeatWork& faulty) {
  return [sound, faulty](CoordinatorClient& client) -> matrix::SeatWork {
    return [sound, faulty, &client, works = std::map<bool, matrix::SeatWork>()](
               const backends::TrialOrder& order) mutable {
      const bool is_faulty = order.number == 1;
      matrix::SeatWork& work = works[is_faulty];
      if (!work) work = is_faulty ? faulty(client) : sound(client);
      return work(order);
    };
  };
}

[[noreturn]] void serve_threads(const std::string& fault, const Options& options) {
  if (fault == "unable") matrix::host_seats(options.coordinator, no_work);
  const matrix::MakeSeatWork sound = matrix::gloo_work(options.timeout_s);
  if (!has_fault(fault)) matrix::host_seats(options.coordinator, sound);
  matrix::host_seats(
      options.coordinator,
      wrong_in_first_trial(sound, matrix::gloo_work(options.timeout_s, faulty_program(fault))));
}

[[noreturn]] void serve_gpu(const std::string& fault, const Options& options) {
  backends::let_ranks_share_gpus();
  const matrix::MakeSeatWork sound = matrix::nccl_work(options.timeout_s);
  if (!has_fault(fault)) matrix::host_seats(options.coordinator, sound);
  matrix::host_seats(
      options.coordinator,
      wrong_in_first_trial(sound, matrix::nccl_work(options.timeout_s, faulty_program(fault))));
}

int serve(const std::string& fault, const std::string& kind, const std::vector<std::string>& rest) {
  const Options options = options_from(rest);
  if (kind == "threads") serve_threads(fault, options);
  if (kind == "gpu") serve_gpu(fault, options);
  return serve_process(fault, options);
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  return lockstep::test::serve(argv[1], argv[2], {argv + 3, argv + argc});
}
