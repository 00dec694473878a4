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
  const std::string text = "dim " + std::to_string(cut.dim) + " over " +
                           std::string(name_of(cut.axis)) + " in " + std::to_string(cut.num_parts) +
                           " of " + std::to_string(cut.part_size);
  if (cut.num_blocks == 1) return text;
  return text + ", in each of " + std::to_string(cut.num_blocks) + " blocks";
}

ShardSlice slice_of(const Cut& cut, std::int64_t full_size, std::int64_t part) {
  const std::int64_t block = full_size / cut.num_blocks;
  const std::int64_t first = part * cut.part_size;
  const std::int64_t count = std::clamp<std::int64_t>(block - first, 0, cut.part_size);
  ShardSlice slice{.dim = cut.dim};
  for (std::int64_t b = 0; b < cut.num_blocks && count > 0; ++b) {
    slice.runs.push_back({.local = b * cut.part_size, .global = b * block + first, .count = count});
  }
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

namespace {

std::vector<std::int64_t> local_shape(const std::optional<Cut>& cut,
                                      const std::vector<std::int64_t>& full_shape) {
  std::vector<std::int64_t> shape = full_shape;
  if (cut.has_value()) {
    shape[static_cast<std::size_t>(cut->dim)] = cut->num_blocks * cut->part_size;
  }
  return shape;
}

template <typename Spec>
Shard shard_without_values(const Spec& spec, const Mesh& mesh, Rank rank) {
  return {.name = spec.name,
          .full_shape = spec.full_shape,
          .local_shape = local_shape(spec.cut, spec.full_shape),
          .slice = slice_of(spec.cut, spec.full_shape, mesh, rank)};
}

}  // namespace

Shard shard_of(const ParameterSpec& spec, const Mesh& mesh, Rank rank) {
  return shard_without_values(spec, mesh, rank);
}

Shard shard_of(const ActivationSpec& spec, const Mesh& mesh, Rank rank) {
  return shard_without_values(spec, mesh, rank);
}

std::vector<std::int64_t> local_shape(const ParameterSpec& spec) {
  return local_shape(spec.cut, spec.full_shape);
}

}  // namespace lockstep
