// What NCCL returns, in words.
#include "backends/nccl/api.h"

#include <fmt/format.h>
#include <nccl.h>

#include "backends/nccl/transport.h"

namespace lockstep::backends {

std::string nccl_error_text(int result) {
  std::string text = ncclGetErrorString(static_cast<ncclResult_t>(result));
  const char* last = ncclGetLastError(nullptr);
  if (last != nullptr && *last != '\0') text += fmt::format("; its last error: {}", last);
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

void check_nccl(int result, const std::string& doing) {
  if (result == ncclSuccess) return;
  throw NcclError(fmt::format("{}: NCCL: {}", doing, nccl_error_text(result)));
}

int nccl_state(ncclComm* communicator) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
  return asked == ncclSuccess ? state : asked;
}

}  // namespace lockstep::backends
