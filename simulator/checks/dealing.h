// Who holds which part of a tensor, worked out once for all that is dealt alike.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/snapshot/dealing.h"

namespace lockstep::sim {

// As the checks call them.
using Part = Dealing::Part;
using Piece = Dealing::Piece;

// The last dealing of each tensor of a list.
class Dealings {
 public:
  const Dealing& of(std::size_t index, std::span<const RankShard> shards);

 private:
  std::vector<std::optional<Dealing>> known_;
};

}  // namespace lockstep::sim
