// A command that a launcher (mpirun, srun, torchrun) has started several times.
#pragma once

#include <functional>

#include "matrix/cli/arguments.h"

namespace lockstep::matrix {

// Over Gloo or NCCL, where the environment says that this is one of several processes: rank 0
// leads, with what it needs to reach the others in its arguments, and tells them when it is done;
// the others follow and return 0. Anywhere else `lead` is called with the arguments as they are.
// UsageError where --launcher names another one than started the command; LaunchError where the
// leader cannot be reached, or cannot listen.
int on_leader(const Arguments& arguments, const std::function<int(const Arguments&)>& lead);

}  // namespace lockstep::matrix
