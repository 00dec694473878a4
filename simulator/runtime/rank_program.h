// The program that every rank of a trial runs, whatever it runs on and communicates by.
#pragma once

#include <string>
#include <vector>

#include "core/comm/mesh.h"
#include "core/config/case.h"
#include "core/train/rank_result.h"
#include "simulator/defects/trial_setup.h"

namespace lockstep::sim {

// What one rank's program is made of; all of it outlives the program.
struct RankProgram {
  Rank rank;
  const Mesh& mesh;
  const Case& c;
  const TrialSetup& setup;  // its kernels are the device's
  Device& device;
};

// Each finished step is appended to `result` at once.
void run_rank_program(const RankProgram& program, Transport& transport, RankResult& result);

// Of every rank's gradients and parameters after each step.
std::string digest_of(const std::vector<RankResult>& ranks);

}  // namespace lockstep::sim
