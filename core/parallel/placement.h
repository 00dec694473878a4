// How a tensor lies on the mesh: a placement for each axis, and the cut of a sharded dim.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/mesh.h"
#include "core/config/data.h"
#include "core/snapshot/shard.h"

namespace lockstep {

enum class PlacementKind {
  kReplicate,  // the same on every rank of the axis, and kept so
  kInvariant,  // comes out the same on every rank by computation: nothing to do
  kVarying,    // each rank has values of its own (other samples, other tokens)
  kPartial,    // ranks hold terms of a sum
  kShard,      // ranks hold parts
};
std::string_view name_of(PlacementKind kind);

using Placements = std::array<PlacementKind, kNumDenseAxes>;  // by Axis, the dense ones

// Which part of which dim a rank holds: the dim is `num_blocks` equal blocks one after the other,
// as gate and up are, and the rank holds part r of each, of `num_parts` equal ones. A dim of one
// block is padded to num_parts * part_size: indices from the full size on are padding.
struct Cut {
  int dim = 0;
  Axis axis = Axis::kTp;
  std::int64_t num_parts = 1;
  std::int64_t part_size = 0;  // of one block
  std::int64_t num_blocks = 1;
};

std::string to_text(const Cut& cut);  // dim 0 over tp in 4 of 24, in each of 2 blocks

// One row of a model's parameter table. Everything about a parameter's layout derives from it.
struct ParameterSpec {
  std::string name;  // Megatron-core's
  std::vector<std::int64_t> full_shape;
  InitKind init = InitKind::kWeight;
  std::int64_t fan_in = 1;
  // Of the gradient that a rank's backward passes have summed up. The parameter itself is a shard
  // on its cut's axis and a replica on all others.
  Placements gradient{};
  std::optional<Cut> cut = {};

  PlacementKind gradient_on(Axis axis) const { return gradient[static_cast<std::size_t>(axis)]; }
};

using ParameterTable = std::vector<ParameterSpec>;

// Which rows of an activation a rank holds.
enum class ActivationRows {
  kWithinRegion,  // of a column- and a row-parallel map: all that its tp group computes
  kResidual,      // outside: the same, but under sequence parallelism its own tp part of them
};
std::string_view name_of(ActivationRows rows);

// A traced activation of one micro-batch: [tokens, width], token s of sample b being row
// s * micro_batch + b.
struct ActivationSpec {
  std::string name;  // of the module whose output it is
  std::vector<std::int64_t> full_shape;
  ActivationRows rows = ActivationRows::kResidual;
  std::optional<Cut> columns = {};
};

// In execution order.
using ActivationTable = std::vector<ActivationSpec>;

// Which full rows a rank's local ones are, in one micro-batch: local rows in no run are padding.
struct ActivationRowRuns {
  std::vector<ShardRun> all = {};  // of ActivationRows::kWithinRegion
  std::vector<ShardRun> own = {};  // of ActivationRows::kResidual
  std::int64_t num_all = 0;        // local rows, padding included
  std::int64_t num_own = 0;
};

// The rows that part `part` of a cut holds of a dim of `full_size`.
ShardSlice slice_of(const Cut& cut, std::int64_t full_size, std::int64_t part);
// What a rank holds of a parameter: the part at its coordinate, all of dim 0 where it is not cut.
ShardSlice slice_of(const ParameterSpec& spec, const Mesh& mesh, Rank rank);
// The rank's shard of a parameter or of its gradient, still without values.
Shard shard_of(const ParameterSpec& spec, const Mesh& mesh, Rank rank);
// Of an activation, of a micro-batch with these rows.
Shard shard_of(const ActivationSpec& spec,
               const ActivationRowRuns& rows,
               const Mesh& mesh,
               Rank rank);
// Sizes of the memory a rank holds, padding included.
std::vector<std::int64_t> local_shape(const ParameterSpec& spec);

}  // namespace lockstep
