// A rank's process whose first generation goes wrong in a way named by the first argument: rank 1
// disturbs one call of the real training program. Later generations are sound.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix/crew/rank_process.h"
#include "tests/simulator/runtime/faulty_training.h"

namespace lockstep::test {
namespace {

constexpr const char* kLabel = "forward.reduce.decoder.layers.0.mlp.linear_fc2";
constexpr std::uint64_t kFaultyGeneration = 2;  // of rank 1, whose process is the second to start

Disturbance disturbance(const std::string& fault) {
  const auto act = [](void (*action)()) {
    return [action](Communicator&, std::span<const CollectiveCall>, const CommunicatorsOfRank&) {
      action();
      return Ticket{};
    };
  };
  if (fault == "killed") return act([] { std::raise(SIGKILL); });
  if (fault == "frozen") return act([] { std::raise(SIGSTOP); });
  if (fault == "gone") return act([] { std::_Exit(0); });
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

matrix::RankProcessOptions options_from(const std::vector<std::string>& words) {
  std::map<std::string, std::string> value_of;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) value_of[words[i]] = words[i + 1];
  const std::string& coordinator = value_of.at("--coordinator");
  const std::size_t colon = coordinator.rfind(':');
  return {.coordinator = {.host = coordinator.substr(0, colon),
                          .port = std::stoi(coordinator.substr(colon + 1))},
          .seat = std::stoi(value_of.at("--seat")),
          .generation = std::stoull(value_of.at("--generation")),
          .timeout_s = std::stod(value_of.at("--timeout"))};
}

int serve(const std::string& fault, const std::vector<std::string>& words) {
  matrix::RankProcessOptions options = options_from(words);
  if (options.generation == kFaultyGeneration && fault == "late") {
    while (true) ::pause();
  }
  if (options.generation == kFaultyGeneration && fault != "none") {
    const std::vector<TrainingFault> faults = {
        {.rank = 1, .label = kLabel, .occurrence = 1, .instead = disturbance(fault)}};
    options.program =
        [faults](const sim::RankProgram& program, Transport& transport, RankResult& result) {
          const auto faulty = faulty_transport(transport, program.rank, faults);
          sim::run_rank_program(program, *faulty, result);
        };
  }
  return matrix::serve_ranks(options);
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) { return lockstep::test::serve(argv[1], {argv + 2, argv + argc}); }
