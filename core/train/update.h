// The optimizer's update, a line a parameter.
#pragma once

#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/model/parameters.h"
#include "core/train/gradient_buckets.h"

namespace lockstep {

struct UpdateEntry {
  std::string label;  // update.output_layer.weight
  ParameterId parameter;
  double lr = 0.0;
};

struct UpdatePlan {
  std::vector<UpdateEntry> entries;
};

UpdatePlan plan_update(const ParameterTable& table, const Recipe& recipe);
std::string to_text(const UpdatePlan& plan);

// SGD: p -= lr g.
void update_parameters(const OpContext& ops,
                       const UpdatePlan& plan,
                       const Parameters& parameters,
                       const GradientBuckets& gradients);

}  // namespace lockstep
