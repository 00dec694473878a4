// NCCL's results as numbers and errors: its header is seen by sources only.
#pragma once

#include <string>

struct ncclComm;

namespace lockstep::backends {

// "unhandled cuda error ...; NCCL's last error: ...", of a ncclResult_t.
std::string nccl_error_text(int result);
// NcclError where it is not ncclSuccess: "DOING: NCCL: ...".
void check_nccl(int result, const std::string& doing);
// A communicator's ncclResult_t: well, or what befell it.
int nccl_state(ncclComm* communicator);

}  // namespace lockstep::backends
