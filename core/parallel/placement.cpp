// Slices and local shapes from a row of a table.
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

std::string_view name_of(ActivationRows rows) {
  switch (rows) {
    case ActivationRows::kWithinRegion:
      return "all rows";
    case ActivationRows::kResidual:
      return "own rows";
  }
  throw InternalError("unknown rows of an activation");
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

namespace {

ShardSlice slice_at(const Cut& cut,
                    const std::vector<std::int64_t>& full_shape,
                    const Mesh& mesh,
                    Rank rank) {
  return slice_of(
      cut, full_shape.at(static_cast<std::size_t>(cut.dim)), mesh.coordinate(rank, cut.axis));
}

std::int64_t local_size(const Cut& cut) { return cut.num_blocks * cut.part_size; }

}  // namespace

ShardSlice slice_of(const ParameterSpec& spec, const Mesh& mesh, Rank rank) {
  if (spec.cut.has_value()) return slice_at(*spec.cut, spec.full_shape, mesh, rank);
  return {.dim = 0, .runs = {{.local = 0, .global = 0, .count = spec.full_shape[0]}}};
}

Shard shard_of(const ParameterSpec& spec, const Mesh& mesh, Rank rank) {
  Shard shard{.name = spec.name, .full_shape = spec.full_shape, .local_shape = local_shape(spec)};
  if (spec.cut.has_value()) shard.slices = {slice_of(spec, mesh, rank)};
  return shard;
}

Shard shard_of(const ActivationSpec& spec,
               const ActivationRowRuns& rows,
               const Mesh& mesh,
               Rank rank) {
  const bool is_residual = spec.rows == ActivationRows::kResidual;
  Shard shard{.name = spec.name,
              .full_shape = spec.full_shape,
              .local_shape = {is_residual ? rows.num_own : rows.num_all, spec.full_shape.at(1)},
              .slices = {{.dim = 0, .runs = is_residual ? rows.own : rows.all}}};
  if (!spec.columns.has_value()) return shard;
  const Cut& columns = *spec.columns;
  LOCKSTEP_CHECK(columns.dim == 1, spec.name + " has a cut of its columns in another dim");
  shard.local_shape[1] = local_size(columns);
  shard.slices.push_back(slice_at(columns, spec.full_shape, mesh, rank));
  return shard;
}

std::vector<std::int64_t> local_shape(const ParameterSpec& spec) {
  std::vector<std::int64_t> shape = spec.full_shape;
  if (spec.cut.has_value()) {
    shape[static_cast<std::size_t>(spec.cut->dim)] = local_size(*spec.cut);
  }
  return shape;
}

}  // namespace lockstep
