// Which samples a rank trains on, and one micro-batch of them as tensors.
#pragma once

#include <string>

#include "core/config/case.h"
#include "core/model/decoder.h"
#include "core/parallel/rank_context.h"

namespace lockstep {

// Micro-batch m of the rank with GroupRank d in its dp group is global micro-batch m *
// micro_batch_stride + d * dp_stride, and holds the samples from that number times micro_batch on
// (architecture, section 5).
struct BatchPlan {
  std::int64_t num_micro_batches = 0;  // of one dp rank
  std::int64_t micro_batch = 0;        // samples
  std::int64_t micro_batch_stride = 0;
  std::int64_t dp_stride = 0;
};

BatchPlan plan_batch(const Case& c);
std::string to_text(const BatchPlan& plan);

std::int64_t global_micro_batch(const BatchPlan& plan, std::int64_t micro_batch, GroupRank dp_rank);

struct MicroBatchId {
  std::int64_t step = 0;
  std::int64_t global_micro_batch = 0;  // within the step
};

// Labels are shifted before anything is cut.
MicroBatch make_micro_batch(const RankContext& context,
                            const Case& c,
                            const BatchPlan& plan,
                            const MicroBatchId& id);

}  // namespace lockstep
