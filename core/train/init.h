// Initial parameters: each rank makes its own shard of the same full model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/model/parameters.h"
#include "core/parallel/rank_context.h"

namespace lockstep {

struct InitEntry {
  std::string label;  // init.output_layer.weight
  ParameterId parameter;
  std::int64_t seed = 0;
  InitKind kind = InitKind::kWeight;
  std::int64_t fan_in = 1;
  std::optional<Cut> cut =
      {};  // whose part the rank fills in: the one at its coordinate of the axis
};

struct InitPlan {
  std::vector<InitEntry> entries;
};

InitPlan plan_init(const ParameterTable& table, const Recipe& recipe);
std::string to_text(const InitPlan& plan);

void initialise(const RankContext& context,
                const InitPlan& plan,
                const ParameterTable& table,
                const Parameters& parameters);

}  // namespace lockstep
