// Which samples a rank trains on, which of their tokens it holds, and one micro-batch of them as
// tensors.
#pragma once

#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/model/decoder.h"
#include "core/model/sequence.h"
#include "core/parallel/rank_context.h"

namespace lockstep {

// Where a label, the next token of the sample, is taken from.
enum class LabelShift {
  kBeforeCut,
  kAfterCut,  // the next token of the rank's own: wrong where chunks meet
};

// Micro-batch m of the rank with GroupRank d in its dp group is global micro-batch m *
// micro_batch_stride + d * dp_stride, and holds the samples from that number times micro_batch on
// (architecture, section 5). Each field of it is cut over cp by an entry of its own.
struct BatchPlan {
  std::int64_t num_micro_batches = 0;  // of one dp rank
  std::int64_t micro_batch = 0;        // samples
  std::int64_t micro_batch_stride = 0;
  std::int64_t dp_stride = 0;
  SequenceCut ids;
  SequenceCut labels;
  SequenceCut weights;
  SequenceCut positions;  // of RoPE
  SequenceCut rows;       // as which activations are dropped and traced
  LabelShift shift = LabelShift::kBeforeCut;
  double padding_weight = 0.0;  // of padding in the loss
};

BatchPlan plan_batch(const Case& c);
std::string to_text(const BatchPlan& plan);

std::int64_t global_micro_batch(const BatchPlan& plan, std::int64_t micro_batch, GroupRank dp_rank);

struct MicroBatchId {
  std::int64_t step = 0;
  std::int64_t global_micro_batch = 0;  // within the step
};

// Makes a rank's micro-batches. What documents do not change is made once.
class BatchMaker {
 public:
  // All outlive it.
  BatchMaker(const RankContext& context,
             const Case& c,
             const BatchPlan& plan,
             const AttentionPlans& attention);

  MicroBatch micro_batch(const MicroBatchId& id) const;
  // The full rows that the local ones of activations are.
  ActivationRowRuns rows(const MicroBatchId& id) const;

 private:
  std::int64_t first_sample(const MicroBatchId& id) const;
  Documents documents_of(const MicroBatchId& id) const;
  std::vector<SequenceSlot> slots(const SequenceCut& cut, const Documents& documents) const;
  SequenceTables tables_of(const Documents& documents) const;
  // Under sequence parallelism the rank's own part of the slots.
  std::vector<SequenceSlot> residual_slots(const Documents& documents) const;
  Tensor dropout_rows(const Documents& documents, std::int64_t first_token) const;

  const RankContext& context_;
  const Case& c_;
  const BatchPlan& plan_;
  const AttentionPlans& attention_;
  SequenceTables fixed_;  // without packing; empty with it
};

}  // namespace lockstep
