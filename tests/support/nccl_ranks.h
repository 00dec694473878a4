// Runs a function on every rank of a small cluster over NCCL: ranks are threads of this process on
// the GPUs that it sees, each with its own line to a coordinator. It needs a GPU and a NCCL that
// lets ranks share one, unless each has its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/cuda/cuda_device.h"
#include "tests/support/coordinated_ranks.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

// All that this process sees; seats take them in turn, and share them where they outnumber them.
class SeenGpus {
 public:
  // UsageError where there is none.
  SeenGpus();

  Gpu& of(int seat) { return *gpus_[static_cast<std::size_t>(seat) % gpus_.size()]; }

 private:
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

struct NcclRanksOptions {
  std::chrono::milliseconds stall{20000};    // of the coordinator: nothing happens for so long
  std::chrono::milliseconds timeout{20000};  // of NCCL's work that does not move
  int num_trials = 1;                        // see CoordinatedOptions
  bool past_findings = false;
  SeenGpus* gpus = nullptr;  // none: the call's own
  // Each rank enqueues for itself, as in a process of its own: then one that has left a call leaves
  // the others' parts on the GPU.
  bool apart = false;
  // There are as many GPUs as ranks, or it throws: NCCL takes as many channels as it likes, and
  // nothing is prepared.
  bool one_rank_a_gpu = false;
};

// Unless `one_rank_a_gpu`, the environment of the process is prepared first: it must not have used
// CUDA before its first call of this, or of prepare_nccl_ranks(). UsageError where there is no GPU
// or no such NCCL; never throws for what a rank does.
backends::TrialOutcome run_nccl_ranks(const Layout& layout,
                                      const std::function<void(TestRank&)>& program,
                                      const NcclRanksOptions& options = {});
// tp ranks, no other axis.
backends::TrialOutcome run_nccl_ranks(int tp,
                                      const std::function<void(TestRank&)>& program,
                                      const NcclRanksOptions& options = {});

// Prepares the environment. Why ranks cannot run over NCCL here; empty where they can.
std::string prepare_nccl_ranks();

}  // namespace lockstep::test
