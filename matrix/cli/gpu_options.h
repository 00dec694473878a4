// What a command over NCCL settles before its first case: which GPUs, and whether ranks share them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "matrix/cli/arguments.h"

namespace lockstep::matrix {

// The ids of the GPUs that --gpus leaves of those that this process sees; none unless --comm is
// nccl. UsageError for a number of GPUs that are not there.
std::vector<std::string> gpus_option(const Arguments& arguments);

// Why ranks of --comm gloo or nccl cannot run a case, as far as it is known here: under a launcher
// other processes may share this one's GPUs.
std::function<std::optional<std::string>(const Case& c)> why_not_option(const Arguments& arguments);

// The arguments with word whether ranks of some case may share a GPU; then what that needs is set
// in this process' environment, and told on standard error. NotAvailable where every case that
// could run needs it and the NCCL that was found cannot do it.
Arguments settle_gpus(Arguments arguments, const std::vector<const Case*>& cases);

}  // namespace lockstep::matrix
