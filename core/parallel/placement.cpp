// Slices and local shapes from a parameter's row.
#include "core/parallel/placement.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {

std::string_view name_of(PlacementKind kind) {
  switch (kind) {
    case PlacementKind::kReplicate:
      return "replicate";
    case PlacementKind::kInvariant:
      return "invariant";
    case PlacementKind::kVarying:
      return "varying";
    case PlacementKind::kPartial:
      return "partial";
    case PlacementKind::kShard:
      return "shard";
  }
  throw InternalError("unknown placement");
}

std::string to_text(const Cut& cut) {
  return "dim " + std::to_string(cut.dim) + " over " + std::string(name_of(cut.axis)) + " in " +
         std::to_string(cut.num_parts) + " of " + std::to_string(cut.part_size);
}

ShardSlice slice_of(const Cut& cut, std::int64_t full_size, std::int64_t part) {
  const std::int64_t first = part * cut.part_size;
  const std::int64_t count = std::clamp<std::int64_t>(full_size - first, 0, cut.part_size);
  ShardSlice slice{.dim = cut.dim};
  if (count > 0) slice.runs.push_back({.local = 0, .global = first, .count = count});
  return slice;
}

ShardSlice slice_of(const std::optional<Cut>& cut,
                    const std::vector<std::int64_t>& full_shape,
                    const Mesh& mesh,
                    Rank rank) {
  if (!cut.has_value()) {
    return {.dim = 0, .runs = {{.local = 0, .global = 0, .count = full_shape[0]}}};
  }
  return slice_of(
      *cut, full_shape[static_cast<std::size_t>(cut->dim)], mesh.coordinate(rank, cut->axis));
}

ShardSlice slice_of(const ParameterSpec& spec, const Mesh& mesh, Rank rank) {
  return slice_of(spec.cut, spec.full_shape, mesh, rank);
}

Shard shard_of(const ParameterSpec& spec, const Mesh& mesh, Rank rank) {
  return {.name = spec.name,
          .full_shape = spec.full_shape,
          .local_shape = local_shape(spec),
          .slice = slice_of(spec, mesh, rank)};
}

std::vector<std::int64_t> local_shape(const ParameterSpec& spec) {
  std::vector<std::int64_t> shape = spec.full_shape;
  if (spec.cut.has_value()) shape[static_cast<std::size_t>(spec.cut->dim)] = spec.cut->part_size;
  return shape;
}

}  // namespace lockstep
