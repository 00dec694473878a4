// A tiny spec in a folder of its own, swept by the command alone or by processes of a launcher.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "matrix/sweep/case_result.h"
#include "tests/matrix/cli/run_lockstep.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {

// A port that is free now; another process may take it, so it is asked for just before its use.
std::string free_port();

class SweepFixture : public ::testing::Test {
 protected:
  explicit SweepFixture(std::string comm) : comm_(std::move(comm)) {}

  // tiny-linear, four samples a step, one step.
  void write_spec(const std::string& axes) const;
  // Of `out` below the folder.
  std::vector<matrix::CaseResult> results(const std::string& out) const;

  // NAME=VALUE for the process of that rank; empty for none.
  using VariableOf = std::function<std::string(int rank)>;
  struct Launched {
    std::vector<TemporaryFolder> places;  // by rank
    std::vector<pid_t> pids;
  };
  // Starts `num` processes with torchrun's variables, each in a folder of its own but for the spec
  // and the results in "out".
  Launched start(int num,
                 const std::string& port,
                 const std::string& address,
                 const std::vector<std::string>& options,
                 const VariableOf& variable_of = {}) const;
  // What they come to, by rank.
  std::vector<CommandOutcome> launch(int num,
                                     const std::vector<std::string>& options,
                                     const std::string& address = "127.0.0.1",
                                     const VariableOf& variable_of = {}) const;

  TemporaryFolder folder;

 private:
  std::string comm_;
};

}  // namespace lockstep::test
