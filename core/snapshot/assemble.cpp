// A dealing of which only the values are kept.
#include "core/snapshot/assemble.h"

#include "core/snapshot/dealing.h"

namespace lockstep {

Assembly assemble(std::span<const RankShard> shards) {
  const Dealing dealing = deal(shards);
  Assembly assembly{.problem = dealing.problem, .values = {}};
  gather(dealing, shards, assembly.values);
  return assembly;
}

}  // namespace lockstep
