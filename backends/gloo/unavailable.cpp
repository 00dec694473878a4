// In a build without Gloo: the same functions, which say so.
#include "backends/gloo/transport.h"
#include "core/base/errors.h"

namespace lockstep::backends {

struct GlooConnections::Impl {};

GlooConnections::GlooConnections(CoordinatorClient&, const Options&) {
  throw UsageError(why_no_gloo());
}

GlooConnections::~GlooConnections() = default;

std::unique_ptr<Transport> make_gloo_transport(CoordinatorClient&,
                                               GlooConnections&,
                                               const TrialOrder&) {
  throw UsageError(why_no_gloo());
}

Support gloo_support(const CallType&) {
  return {.kind = SupportKind::kNone, .how = "this build has no Gloo"};
}

std::string why_no_gloo() {
  return "this build has no Gloo: install its headers and library (Debian's libgloo-dev) and build "
         "again";
}

std::string gloo_version() { return "not in this build"; }

}  // namespace lockstep::backends
