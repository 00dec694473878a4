// `lockstep worker`: the far end of a sweep's pipes; started by the command, not by people.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "matrix/cli/commands.h"
#include "matrix/cli/ranks_option.h"
#include "matrix/cli/values.h"
#include "matrix/confirm/second_opinion.h"
#include "matrix/sweep/run_case.h"
#include "matrix/sweep/worker_loop.h"

namespace lockstep::matrix {
namespace {

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

int worker_command(const Arguments& arguments) {
  check_backends(arguments);
  RunOptions options{.ranks = ranks_option(arguments), .checks = split_at_commas(arguments.checks)};
  if (!arguments.against.empty()) {
    choice_option("--against", arguments.against, {"inproc"});
    options.second_opinion = held_against(simulated_ranks(sim::RankHost::kFibers));
  }
  CaseRunner runner(std::move(options));
  return serve_cases(
      [&runner](const std::string& name, const Case& c) { return runner.run(name, c); },
      [&runner] { return runner.is_spent(); });
}

}  // namespace lockstep::matrix
