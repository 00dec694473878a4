// Line by line; the first that is no result of simulated ranks on the CPU is an error.
#include "matrix/confirm/earlier_results.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "core/base/errors.h"

namespace lockstep::matrix {

std::vector<CaseResult> read_simulated_results(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw UsageError(
        fmt::format("no folder '{}'; expected the one with a sweep's results", folder));
  }
  const std::string path = folder + "/results.jsonl";
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path, ignored)) {
    throw UsageError(fmt::format(
        "'{}' has no results.jsonl that can be read; expected the folder of a sweep's results",
        folder));
  }
  std::vector<CaseResult> results;
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    try {
      results.push_back(result_from_json(line));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}, line {}: expected a line of a sweep's results; {}",
                                   path,
                                   results.size() + 1,
                                   error.what()));
    }
    const CaseResult& result = results.back();
    const bool is_simulated = result.comm == "inproc";
    if (is_simulated && result.device == "cpu") continue;
    throw UsageError(fmt::format("{}, line {}: ran {}; expected results of a sweep with {}",
                                 path,
                                 results.size(),
                                 is_simulated ? "on " + result.device : "over " + result.comm,
                                 is_simulated ? "--device cpu" : "--comm inproc"));
  }
  return results;
}

}  // namespace lockstep::matrix
