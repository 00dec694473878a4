// What real launchers set, as captured: what a place is read from and what stands beside it.
#pragma once

#include "matrix/launch/environment.h"

namespace lockstep::test {

// Rank 1 of 2 on one host: Open MPI 4.1.4, `mpirun -n 2`.
matrix::Environment mpirun_sample();
// Rank 2 of 4 on two hosts: the same, two ranks on each; this one is on the second.
matrix::Environment mpirun_on_two_hosts_sample();
// Rank 1 of 2: Slurm 22.05, `srun -n 2` inside `sbatch -n 4`.
matrix::Environment srun_sample();
// The script of `sbatch -n 4` itself, and the shell of `salloc -n 4`, as a step and as none.
matrix::Environment sbatch_sample();
matrix::Environment salloc_sample();
matrix::Environment salloc_interactive_step_sample();
// Rank 1 of 2: PyTorch 2.15, `torchrun --standalone --nproc_per_node=2`.
matrix::Environment torchrun_sample();
// Rank 3 of 4, as set by hand.
matrix::Environment by_hand_sample();

// `environment` with more variables, or other values of them.
matrix::Environment with(matrix::Environment environment, const matrix::Environment& changes);
matrix::Environment with(matrix::Environment environment, const char* name, const char* value);
matrix::Environment without(matrix::Environment environment, const char* name);

}  // namespace lockstep::test
