// Everything a layer needs of the rank it runs on: given, never looked up.
#pragma once

#include "core/comm/mesh.h"
#include "core/ops/context.h"
#include "core/parallel/communicators.h"

namespace lockstep {

struct MappingTable;

struct RankContext {
  Rank rank;
  const Mesh& mesh;
  OpContext ops;
  const Communicators& communicators;
  const MappingTable& mappings;

  // Members of this rank's group of a kind, and its place among them.
  int group_size(GroupKind kind) const;
  GroupRank group_rank(GroupKind kind) const;
};

}  // namespace lockstep
