// In the worker: each case that ran on another backend runs on simulated ranks, too.
#pragma once

#include "matrix/sweep/run_case.h"
#include "matrix/sweep/trial_runner.h"

namespace lockstep::matrix {

// For RunOptions: adds the check "agreement" and the digest of the simulated trial to the result.
SecondOpinion held_against(TrialRunner simulated);

}  // namespace lockstep::matrix
