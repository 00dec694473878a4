// Specs, launches, results.
#include "tests/matrix/cli/sweep_fixture.h"

#include <unistd.h>

#include <sstream>

#include "backends/coordinator/coordinator.h"
#include "backends/coordinator/socket.h"

namespace lockstep::test {

std::string free_port() {
  const int socket = backends::listen_on("127.0.0.1", 0);
  const int port = backends::local_port(socket);
  ::close(socket);
  return std::to_string(port);
}

void SweepFixture::write_spec(const std::string& axes) const {
  write_text(folder.file("spec.yaml"),
             "lockstep: 1\nname: tiny\nmodel: {preset: tiny-linear}\n"
             "recipe: {global_batch: 4, steps: 1}\n" +
                 axes);
}

std::vector<matrix::CaseResult> SweepFixture::results(const std::string& out) const {
  std::istringstream lines(read_text(folder.file(out + "/results.jsonl")));
  std::vector<matrix::CaseResult> found;
  std::string line;
  while (std::getline(lines, line)) found.push_back(matrix::result_from_json(line));
  return found;
}

SweepFixture::Launched SweepFixture::start(int num,
                                           const std::string& port,
                                           const std::string& address,
                                           const std::vector<std::string>& options,
                                           const VariableOf& variable_of) const {
  std::vector<std::string> words = {
      "sweep", folder.file("spec.yaml"), "--comm", comm_, "--out", folder.file("out")};
  words.insert(words.end(), options.begin(), options.end());
  Launched launched{.places = std::vector<TemporaryFolder>(static_cast<std::size_t>(num)),
                    .pids = {}};
  for (int rank = 0; rank < num; ++rank) {
    std::vector<std::string> environment = {"RANK=" + std::to_string(rank),
                                            "WORLD_SIZE=" + std::to_string(num),
                                            "LOCAL_RANK=" + std::to_string(rank),
                                            "MASTER_ADDR=" + address,
                                            "MASTER_PORT=" + port};
    const std::string more = variable_of ? variable_of(rank) : "";
    if (!more.empty()) environment.push_back(more);
    launched.pids.push_back(
        start_lockstep(words, launched.places[static_cast<std::size_t>(rank)].path(), environment));
  }
  return launched;
}

std::vector<CommandOutcome> SweepFixture::launch(int num,
                                                 const std::vector<std::string>& options,
                                                 const std::string& address,
                                                 const VariableOf& variable_of) const {
  const Launched launched = start(num, free_port(), address, options, variable_of);
  std::vector<CommandOutcome> outcomes;
  for (std::size_t i = 0; i < launched.pids.size(); ++i) {
    outcomes.push_back(wait_for_lockstep(launched.pids[i], launched.places[i].path()));
  }
  return outcomes;
}

}  // namespace lockstep::test
