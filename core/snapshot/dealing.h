// How a tensor is dealt to ranks: which elements each holds, and which of them come together to the
// whole.
//
// Ranks hold one tensor the same way at every step, and its gradient and state alike: a dealing can
// be worked out once and then only held against the next shards.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/snapshot/shard.h"
#include "core/snapshot/stretches.h"

namespace lockstep {

struct Dealing {
  // What one rank holds.
  struct Part {
    Rank rank;
    Shard frame;  // without values
    std::size_t num_values = 0;
    std::vector<Stretch> stretches;
    // The first part with this frame: itself where no part before has it.
    std::size_t first_alike = 0;
    bool supplies_all = false;  // of its elements
  };

  struct Piece {
    std::size_t part = 0;
    Stretch stretch;
  };

  std::string problem;  // empty: all shards fit together and every element is held
  // One for each shard, in the order given; none after a problem of shapes.
  std::vector<Part> parts;
  std::vector<Piece> cover;  // disjoint; each element is supplied by the first part that holds it
  std::size_t num_elements = 0;
};

Dealing deal(std::span<const RankShard> shards);

// Whether the dealing is that of these shards too.
bool fits(const Dealing& dealing, std::span<const RankShard> shards);

// The full tensor, row-major, from shards that the dealing fits. Elements that nobody holds keep
// the value they have, 0 where they are new.
void gather(const Dealing& dealing, std::span<const RankShard> shards, std::vector<double>& values);

// Bitwise, whatever lies in padding. Both must have the part's frame.
bool are_same_bits(const Dealing::Part& part, const Shard& a, const Shard& b);

}  // namespace lockstep
