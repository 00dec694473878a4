// The plan of the cross entropy.
#include "core/model/cross_entropy_plan.h"

#include "core/model/describe_model.h"

namespace lockstep {

CrossEntropyPlan plan_cross_entropy(const Case& c) {
  const auto vocabulary = static_cast<double>(c.model.vocab_size);
  const std::int64_t padded = padded_vocabulary(c.model, c.layout);
  CrossEntropyPlan plan{
      .width = padded,
      .num_real = c.model.vocab_size,
      .smoothing = {.weight = c.recipe.label_smoothing * vocabulary / (vocabulary - 1.0),
                    .vocabulary = c.model.vocab_size}};
  if (c.layout.tp == 1 || c.model.gather_output) return plan;
  plan.width = padded / c.layout.tp;
  plan.stride = plan.width;
  plan.max_group = GroupKind::kTp;
  plan.sums = {{.label = "forward.sum.cross_entropy"}};
  return plan;
}

}  // namespace lockstep
