// The optimizer's update, a line a parameter.
#pragma once

#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/train/gradient_buckets.h"
#include "core/train/optimizer_state.h"

namespace lockstep {

struct UpdateEntry {
  std::string label;  // update.output_layer.weight
  ParameterId parameter;
  double lr = 0.0;
  double weight_decay = 0.0;
  // Of AdamW.
  double beta1 = 0.0;
  double beta2 = 0.0;
  double eps = 0.0;
};

struct UpdatePlan {
  OptimizerStateSpec state;
  std::int64_t first_update = 1;  // number of the first one in AdamW's bias corrections
  std::vector<UpdateEntry> entries;
};

// Nothing is updated without backward passes. Weight decay goes by the model's shape, whatever part
// a rank holds: none for 1-D parameters.
UpdatePlan plan_update(const ParameterTable& table, const Recipe& recipe);
std::string to_text(const UpdatePlan& plan);

// SGD, or AdamW (semantics, section 8.6), on masters; parameters follow.
void update_parameters(const OpContext& ops,
                       const UpdatePlan& plan,
                       const GradientBuckets& gradients,
                       OptimizerState& state);

}  // namespace lockstep
