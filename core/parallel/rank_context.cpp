// A rank's place in its groups.
#include "core/parallel/rank_context.h"

#include <string>

#include "core/base/errors.h"

namespace lockstep {
namespace {

const Group& own_group(const RankContext& context, GroupKind kind) {
  const Group* const group = context.mesh.group_of(kind, context.rank);
  LOCKSTEP_CHECK(group != nullptr, "this rank is in no " + std::string(name_of(kind)) + " group");
  return *group;
}

}  // namespace

int RankContext::group_size(GroupKind kind) const { return own_group(*this, kind).size(); }

GroupRank RankContext::group_rank(GroupKind kind) const {
  return own_group(*this, kind).rank_of(rank).value();
}

}  // namespace lockstep
