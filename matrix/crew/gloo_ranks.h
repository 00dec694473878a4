// The runner of trials over Gloo: coordinator, seats and crew put together.
#pragma once

#include <string>
#include <vector>

#include "matrix/sweep/trial_runner.h"

namespace lockstep::matrix {

struct GlooRanksOptions {
  std::string program;  // this command
  double timeout_s = 60.0;
  // Of a command that a launcher started; else ranks are processes of this host, as many as needed.
  int num_processes = 0;
  int listening = -1;     // the socket at which followers and ranks arrive
  std::string host = {};  // under which they reach it
};

// The words that start the process of a rank, up to the seat.
std::vector<std::string> rank_command(const std::string& program,
                                      const std::string& host,
                                      int port,
                                      double timeout_s);

TrialRunner gloo_ranks(const GlooRanksOptions& options);

}  // namespace lockstep::matrix
