// One rank of one trial over Gloo: who carries a call out, and what its failure says.
#pragma once

#include "backends/coordinator/ordered_transport.h"
#include "backends/gloo/connections.h"
#include "backends/gloo/transport.h"

namespace lockstep::backends {

class GlooTransport : public OrderedTransport {
 public:
  GlooTransport(CoordinatorClient& client, GlooConnections::Impl& connections, Rank rank);
  ~GlooTransport() override;

  Support supports(const CallType& type) const override { return gloo_support(type); }

 private:
  void carry_out(const DueCalls& due) override;
  void carry_out_own_message(const DueCalls& send, const DueCalls& receive) override;
  void carry_out_call(const OrderedMember& member, const CollectiveCall& call);

  GlooConnections::Impl& connections_;
};

}  // namespace lockstep::backends
