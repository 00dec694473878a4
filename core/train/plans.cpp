// Making and printing all plans of a case.
#include "core/train/plans.h"

#include "core/model/describe_model.h"

namespace lockstep {

Plans make_plans(const Case& c) {
  const ParameterTable table = describe_model(c.model, c.layout);
  const BucketPlan buckets = plan_buckets(table, c.recipe);
  return {.table = table,
          .activations = describe_activations(c),
          .init = plan_init(table, c.recipe),
          .batch = plan_batch(c),
          .mappings = plan_mappings(c.layout),
          .heads = plan_heads(c),
          .context = plan_context(c),
          .dropout = plan_dropout(c),
          .cross_entropy = plan_cross_entropy(c),
          .loss = plan_loss(c),
          .buckets = buckets,
          .accumulation = plan_accumulation(buckets, c),
          .finalize = plan_finalize(table, buckets, c),
          .gradient_norm = plan_count(table, c.layout, "grad_norm"),
          .clip = plan_clip(c.recipe),
          .gradient_zeros = plan_count(table, c.layout, "grad_zeros"),
          .update = plan_update(table, c.recipe),
          .parameter_norm = plan_count(table, c.layout, "param_norm"),
          .probes = plan_probes(table, c.recipe)};
}

std::string to_text(const Plans& plans) {
  return to_text(plans.table) + to_text(plans.activations) + to_text(plans.init) +
         to_text(plans.batch) + to_text(plans.mappings) + to_text(plans.heads) +
         to_text(plans.context) + to_text(plans.dropout) + to_text(plans.cross_entropy) +
         to_text(plans.loss) + to_text(plans.buckets, plans.table) + to_text(plans.accumulation) +
         to_text(plans.finalize) + to_text(plans.gradient_norm) + to_text(plans.clip) +
         to_text(plans.gradient_zeros) + to_text(plans.update) + to_text(plans.parameter_norm) +
         to_text(plans.probes);
}

}  // namespace lockstep
