// How a tensor is dealt to ranks: which elements each holds, and which of them come together to the
// whole.
//
// Ranks hold one tensor the same way at every step, and its gradient, state and activations of all
// micro-batches alike: a dealing is worked out once and then only held against the next shards.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/snapshot/assemble.h"
#include "core/snapshot/stretches.h"

namespace lockstep::sim {

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

struct Dealing {
  std::string problem;  // empty: all shards fit together and every element is held
  std::vector<Part>
      parts;  // one for each shard, in the order given; none after a problem of shapes
  std::vector<Piece> cover;  // disjoint; each element is supplied by the first part that holds it
  std::size_t num_elements = 0;
};

Dealing deal(std::span<const RankShard> shards);

// Whether the dealing is that of these shards too.
bool fits(const Dealing& dealing, std::span<const RankShard> shards);

// The full tensor, row-major, from shards that the dealing, without problem, fits.
void gather(const Dealing& dealing, std::span<const RankShard> shards, std::vector<double>& values);

// Bitwise, whatever lies in padding. The parts must be alike.
bool are_same_bits(const Part& part, const Shard& a, const Shard& b);

// The last dealing of each tensor of a list.
class Dealings {
 public:
  const Dealing& of(std::size_t index, std::span<const RankShard> shards);

 private:
  std::vector<std::optional<Dealing>> known_;
};

}  // namespace lockstep::sim
