// Cases and results that the tests of the sweep share.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/sweep/case_result.h"

namespace lockstep::test {

// tiny-linear with the given seed, so that ids differ.
Case sample_case(std::int64_t seed);

matrix::CaseResult sample_result(const std::string& name,
                                 std::int64_t seed,
                                 matrix::Verdict verdict);

sim::CheckResult passed_check(const std::string& check, const std::string& where, double error);
sim::CheckResult failed_check(const std::string& check,
                              const std::string& where,
                              const std::string& hint);

// A folder of its own, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace lockstep::test
