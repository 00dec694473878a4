// Connecting a rank to its groups.
#include "core/parallel/communicators.h"

#include <string>

#include "core/base/errors.h"

namespace lockstep {

Communicators::Communicators(Transport& transport, const Mesh& mesh, Rank rank) {
  for (int kind = 0; kind < kNumGroupKinds; ++kind) {
    const Group* const group = mesh.group_of(static_cast<GroupKind>(kind), rank);
    const bool shared = group != nullptr && group->size() > 1;
    by_kind_.push_back(shared ? transport.connect(rank, *group) : nullptr);
  }
}

Communicator& Communicators::of(GroupKind kind) const {
  const auto& communicator = by_kind_[static_cast<std::size_t>(kind)];
  LOCKSTEP_CHECK(communicator != nullptr,
                 "this rank is alone in its " + std::string(name_of(kind)) + " group");
  return *communicator;
}

}  // namespace lockstep
