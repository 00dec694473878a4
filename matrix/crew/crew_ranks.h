// The runners of trials on ranks in other processes: coordinator, seats and crew put together.
#pragma once

#include <string>
#include <vector>

#include "matrix/sweep/trial_runner.h"

namespace lockstep::matrix {

struct CrewRanksOptions {
  std::string program;  // this command
  double timeout_s = 60.0;
  // Of a command that a launcher started; else all ranks are on this host.
  int num_processes = 0;
  int listening = -1;     // the socket at which followers and ranks arrive
  std::string host = {};  // under which they reach it
  // Of NCCL: the ids of this process' GPUs, and whether ranks may share them (--share-gpus).
  std::vector<std::string> gpus = {};
  bool share_gpus = false;
};

// The words that start the process of a rank over Gloo, or of all ranks of a host over NCCL; the
// seats come by another way, and whether ranks may share GPUs is the leader's word.
std::vector<std::string> rank_words(const std::string& comm,
                                    const std::string& program,
                                    const std::string& host,
                                    int port,
                                    double timeout_s);
// Which a host process over NCCL is given where ranks may share GPUs.
inline constexpr const char* kShareGpus = "--share-gpus";

// A process a rank.
TrialRunner gloo_ranks(const CrewRanksOptions& options);
// A thread a rank in one process a host.
TrialRunner nccl_ranks(const CrewRanksOptions& options);

}  // namespace lockstep::matrix
