// Small results that hold a value in every field.
#include "tests/matrix/sweep/sample_results.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>

#include "core/config/presets.h"

namespace lockstep::test {

Case sample_case(std::int64_t seed) {
  Case c = preset_case("tiny-linear");
  c.recipe.seed = seed;
  return c;
}

matrix::CaseResult sample_result(const std::string& name,
                                 std::int64_t seed,
                                 matrix::Verdict verdict) {
  matrix::CaseResult result;
  result.name = name;
  result.c = sample_case(seed);
  result.verdict = verdict;
  result.seconds = 0.125;
  result.digest = "00112233445566ff";
  return result;
}

sim::CheckResult passed_check(const std::string& check, const std::string& where, double error) {
  sim::CheckResult result;
  result.check = check;
  result.verdict = sim::CheckVerdict::kPass;
  result.expected = 31;
  result.compared = 31;
  result.worst = {.where = where, .ranks = {Rank{0}}, .error = error, .bound = 1e-10, .hint = ""};
  return result;
}

sim::CheckResult failed_check(const std::string& check,
                              const std::string& where,
                              const std::string& hint) {
  sim::CheckResult result = passed_check(check, where, 0.5);
  result.verdict = sim::CheckVerdict::kFail;
  result.worst.hint = hint;
  result.failures = {result.worst};
  return result;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace lockstep::test
