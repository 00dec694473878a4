// The communicators of one rank, one for each kind of group larger than itself.
#pragma once

#include <memory>
#include <vector>

#include "core/comm/communicator.h"
#include "core/comm/mesh.h"

namespace lockstep {

class Communicators {
 public:
  // Connects in the fixed order of GroupKind, as transports require.
  Communicators(Transport& transport, const Mesh& mesh, Rank rank);

  // InternalError where this rank's group of that kind has no other member.
  Communicator& of(GroupKind kind) const;

 private:
  std::vector<std::unique_ptr<Communicator>> by_kind_;
};

}  // namespace lockstep
