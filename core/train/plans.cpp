// Making and printing all plans of a case.
#include "core/train/plans.h"

#include "core/model/describe_model.h"

namespace lockstep {

Plans make_plans(const Case& c) {
  ParameterTable table = describe_model(c.model, c.layout);
  BucketPlan buckets = plan_buckets(table, c.recipe);
  return {.table = table,
          .init = plan_init(table, c.recipe),
          .batch = plan_batch(c),
          .mappings = plan_mappings(c.layout),
          .loss = plan_loss(c),
          .buckets = buckets,
          .finalize = plan_finalize(table, buckets, c),
          .update = plan_update(table, c.recipe)};
}

std::string to_text(const Plans& plans) {
  return to_text(plans.table) + to_text(plans.init) + to_text(plans.batch) +
         to_text(plans.mappings) + to_text(plans.loss) + to_text(plans.buckets, plans.table) +
         to_text(plans.finalize) + to_text(plans.update);
}

}  // namespace lockstep
