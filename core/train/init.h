// Initial parameters: each rank makes its own shard of the same full model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/parallel/rank_context.h"
#include "core/train/optimizer_state.h"

namespace lockstep {

struct InitEntry {
  std::string label;  // init.output_layer.weight
  ParameterId parameter;
  std::int64_t seed = 0;
  // A rank's coordinate on it is added to the seed; none: every rank draws from the same stream.
  std::optional<Axis> seed_axis = {};
  InitKind kind = InitKind::kWeight;
  std::int64_t fan_in = 1;
  std::optional<Cut> cut = {};  // whole where there is none
  // Of the cut, the same on every rank; none: the part at the rank's coordinate of its axis.
  std::optional<std::int64_t> part = {};
};

struct InitPlan {
  std::vector<InitEntry> entries;
};

InitPlan plan_init(const ParameterTable& table, const Recipe& recipe);
std::string to_text(const InitPlan& plan);

// Writes each entry's values to the rank's own master, zeros where it is padding; parameters are
// rounded from masters.
void initialise(const RankContext& context,
                const InitPlan& plan,
                const ParameterTable& table,
                const OptimizerState& state);

}  // namespace lockstep
