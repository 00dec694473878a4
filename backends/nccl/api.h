// NCCL's results as numbers and errors: its header is seen by sources only.
#pragma once

#include <string>

struct ncclComm;

namespace lockstep::backends {

// "unhandled cuda error ...; NCCL's last error: ...", of a ncclResult_t.
std::string nccl_error_text(int result);
// NcclError where it is neither ncclSuccess nor ncclInProgress: "DOING: NCCL: ...".
void check_nccl(int result, const std::string& doing);
// A communicator's ncclResult_t: in progress, well, or what befell it.
int nccl_state(ncclComm* communicator);
// It is well, and all that was begun on it is on its way.
bool is_settled(ncclComm* communicator);

}  // namespace lockstep::backends
