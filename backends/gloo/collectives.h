// Carries out one call that all members have agreed on: Gloo's collectives, or what is built from
// them.
//
// Every member carries out a connection's operations in one order, and the number of an operation
// is its tag: none can take another's data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/comm/communicator.h"

namespace gloo {
class Context;
}

namespace lockstep::backends {

// Of the members of one set of ranks, in the order of their group.
struct GlooConnection {
  std::shared_ptr<::gloo::Context> context;
  std::uint32_t num_operations = 0;
  std::vector<std::byte> scratch;  // kept between operations
};

// Not a message. In a group of one, `connection` may be null.
void carry_out_collective(GlooConnection* connection, const CollectiveCall& call);
// The send or the receive of this process; the connection's two members are its ends.
void carry_out_message(GlooConnection& connection, const CollectiveCall& call);
// Both ends are this rank's.
void carry_out_own_message(const CollectiveCall& send, const CollectiveCall& receive);

}  // namespace lockstep::backends
