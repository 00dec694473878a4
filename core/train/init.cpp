// The init plan and its executor.
#include "core/train/init.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/errors.h"
#include "core/ops/host.h"
#include "core/snapshot/stretches.h"

namespace lockstep {
namespace {

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

std::vector<ShardSlice> slices_of(const InitEntry& entry,
                                  const ParameterSpec& spec,
                                  const RankContext& context) {
  if (!entry.cut.has_value()) return {};
  const Cut& cut = *entry.cut;
  const std::int64_t part = entry.part.value_or(context.mesh.coordinate(context.rank, cut.axis));
  return {slice_of(cut, spec.full_shape.at(static_cast<std::size_t>(cut.dim)), part)};
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
    if (entry.seed_axis.has_value()) {
      text += fmt::format(", seed plus {}", lockstep::name_of(*entry.seed_axis));
    }
    if (entry.cut.has_value()) text += ", " + to_text(*entry.cut);
    if (entry.part.has_value()) text += fmt::format(", part {}", *entry.part);
    text += "\n";
  }
  return text;
}

void initialise(const RankContext& context,
                const InitPlan& plan,
                const ParameterTable& table,
                const OptimizerState& state) {
  for (const InitEntry& entry : plan.entries) {
    const auto index = static_cast<std::size_t>(entry.parameter.value);
    const ParameterSpec& spec = table.at(index);
    Shard shard = shard_of(spec, context.mesh, context.rank);
    shard.slices = slices_of(entry, spec, context);
    const std::int64_t seed =
        entry.seed +
        (entry.seed_axis.has_value() ? context.mesh.coordinate(context.rank, *entry.seed_axis) : 0);
    const InitialValues initial(seed, spec.name, entry.kind, entry.fan_in);
    fill_shard(shard, [&](std::int64_t full, std::span<double> local) {
      for (double& value : local) value = initial[full++];
    });
    const Tensor& master = state.masters()[index];
    write_reals(context.ops, shard.values, master, entry.label);
    if (!state.has_masters()) continue;
    const std::vector<double> rounded = read_reals(context.ops, master, entry.label);
    write_reals(context.ops, rounded, state.parameters()[index], entry.label);
  }
}

}  // namespace lockstep
