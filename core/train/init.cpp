// The init plan and its executor.
#include "core/train/init.h"

#include <fmt/format.h>

#include <string_view>

#include "core/base/errors.h"
#include "core/ops/host.h"

namespace lockstep {
namespace {

// The values of a slice of the full tensor, in the local shape; zero where no run reaches.
std::vector<double> shard_values(const InitEntry& entry,
                                 const ParameterSpec& spec,
                                 const ShardSlice& slice) {
  const std::vector<std::int64_t> local = local_shape(spec);
  const bool one_dim = local.size() == 1;
  const std::int64_t local_columns = one_dim ? 1 : local[1];
  const std::int64_t full_columns = one_dim ? 1 : spec.full_shape[1];
  std::vector<double> values(static_cast<std::size_t>(local[0] * local_columns), 0.0);
  const InitialValues initial(entry.seed, spec.name, entry.kind, entry.fan_in);
  for (const ShardRun& run : slice.runs) {
    const bool by_rows = slice.dim == 0;
    const std::int64_t rows = by_rows ? run.count : local[0];
    const std::int64_t width = by_rows ? local_columns : run.count;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < width; ++column) {
        const std::int64_t global = by_rows ? (run.global + row) * full_columns + column
                                            : row * full_columns + run.global + column;
        const std::int64_t at = by_rows ? (run.local + row) * local_columns + column
                                        : row * local_columns + run.local + column;
        values[static_cast<std::size_t>(at)] = initial[global];
      }
    }
  }
  return values;
}

std::string_view name_of(InitKind kind) {
  switch (kind) {
    case InitKind::kWeight:
      return "weight";
    case InitKind::kNormWeight:
      return "norm weight";
    case InitKind::kBias:
      return "bias";
  }
  throw InternalError("unknown kind of initial value");
}

}  // namespace

InitPlan plan_init(const ParameterTable& table, const Recipe& recipe) {
  InitPlan plan;
  for (std::size_t i = 0; i < table.size(); ++i) {
    plan.entries.push_back({.label = "init." + table[i].name,
                            .parameter = {static_cast<int>(i)},
                            .seed = recipe.seed,
                            .kind = table[i].init,
                            .fan_in = table[i].fan_in,
                            .cut = table[i].cut});
  }
  return plan;
}

std::string to_text(const InitPlan& plan) {
  std::string text;
  for (const InitEntry& entry : plan.entries) {
    text += fmt::format("{}: parameter {}, {}, seed {}, fan-in {}",
                        entry.label,
                        entry.parameter.value,
                        name_of(entry.kind),
                        entry.seed,
                        entry.fan_in);
    if (entry.cut.has_value()) text += ", " + to_text(*entry.cut);
    text += "\n";
  }
  return text;
}

void initialise(const RankContext& context,
                const InitPlan& plan,
                const ParameterTable& table,
                const Parameters& parameters) {
  for (const InitEntry& entry : plan.entries) {
    const ParameterSpec& spec = table.at(static_cast<std::size_t>(entry.parameter.value));
    ShardSlice slice = slice_of(spec, context.mesh, context.rank);
    if (entry.cut.has_value()) {
      slice = slice_of(*entry.cut,
                       spec.full_shape[static_cast<std::size_t>(entry.cut->dim)],
                       context.mesh.coordinate(context.rank, entry.cut->axis));
    }
    write_reals(context.ops,
                shard_values(entry, spec, slice),
                parameters[entry.parameter].value,
                entry.label);
  }
}

}  // namespace lockstep
