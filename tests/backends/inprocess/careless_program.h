// A program whose ranks use buffers while they may not be used: what they read tells the order in
// which everything happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/device_memory.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

struct CarelessRun {
  std::vector<std::vector<double>> logs;        // by rank: all that it read, in order
  std::vector<std::vector<std::string>> notes;  // by rank: when it read each of them
  std::string findings;
};

// Ranks submit collectives and, as `seed` draws, overwrite what is under way, read outputs too
// early, or never wait.
CarelessRun run_careless(int num_ranks, std::uint64_t seed, const sim::ClusterOptions& options);

// All elements, of f64. On a GPU the host goes on long before that is done.
void set_slowly(TestRank& rank, const Tensor& tensor, double value, Stream stream = {});

}  // namespace lockstep::test
