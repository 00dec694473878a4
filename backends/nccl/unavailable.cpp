// In a build without NCCL: the same functions, which say so.
#include "backends/nccl/transport.h"
#include "core/base/errors.h"

namespace lockstep::backends {
namespace {

constexpr std::string_view kWhy =
    "this build has no NCCL: install CUDA's toolkit and NCCL (nccl.h and libnccl.so) and build "
    "again";

[[noreturn]] void refuse() { throw UsageError(std::string(kWhy)); }

}  // namespace

struct NcclProcess::Impl {};

NcclProcess::NcclProcess() = default;
NcclProcess::~NcclProcess() = default;

struct NcclConnections::Impl {};

NcclConnections::NcclConnections(NcclProcess&, CoordinatorClient&, Gpu&, const Options&) {
  refuse();
}
NcclConnections::~NcclConnections() = default;

std::unique_ptr<Transport> make_nccl_transport(CoordinatorClient&,
                                               NcclConnections&,
                                               const NcclTrial&) {
  refuse();
}

Support nccl_support(const CallType&) {
  return {.kind = SupportKind::kNone, .how = "this build has no NCCL"};
}

std::string why_no_nccl(int) { return std::string(kWhy); }
std::string nccl_version() { return "not in this build"; }
std::string let_ranks_share_gpus() { return ""; }

}  // namespace lockstep::backends
