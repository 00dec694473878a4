// The batch plan, and tokens, labels and weights from the data generator.
#include "core/train/batch.h"

#include <fmt/format.h>

#include "core/config/data.h"
#include "core/ops/host.h"

namespace lockstep {

BatchPlan plan_batch(const Case& c) {
  return {.num_micro_batches = num_micro_batches(c),
          .micro_batch = c.recipe.micro_batch,
          .micro_batch_stride = c.layout.dp,
          .dp_stride = 1};
}

std::string to_text(const BatchPlan& plan) {
  return fmt::format("batch: {} micro-batches of {}, global number m * {} + d * {}\n",
                     plan.num_micro_batches,
                     plan.micro_batch,
                     plan.micro_batch_stride,
                     plan.dp_stride);
}

std::int64_t global_micro_batch(const BatchPlan& plan,
                                std::int64_t micro_batch,
                                GroupRank dp_rank) {
  return micro_batch * plan.micro_batch_stride + dp_rank.value * plan.dp_stride;
}

MicroBatch make_micro_batch(const RankContext& context,
                            const Case& c,
                            const BatchPlan& plan,
                            const MicroBatchId& id) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> labels;
  std::vector<double> weights;
  std::int64_t targets = 0;
  for (std::int64_t position = 0; position < c.recipe.seq; ++position) {
    for (std::int64_t b = 0; b < plan.micro_batch; ++b) {
      const std::int64_t sample = id.global_micro_batch * plan.micro_batch + b;
      const bool counts = is_target(c, id.step, sample, position);
      ids.push_back(token(c, id.step, sample, position));
      labels.push_back(token(c, id.step, sample, position + 1));
      weights.push_back(counts ? 1.0 : 0.0);
      targets += counts ? 1 : 0;
    }
  }
  const Shape shape{static_cast<std::int64_t>(ids.size())};
  return {.ids_T = integers_from_host(context.ops, ids, shape, "batch.ids"),
          .labels_T = integers_from_host(context.ops, labels, shape, "batch.labels"),
          .weights_T = reals_from_host(
              context.ops, context.ops.main_dtype(), weights, shape, "batch.weights"),
          .targets = targets};
}

}  // namespace lockstep
