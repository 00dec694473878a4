// Where gradients go from a backward pass: to their buckets, whose sums may start while it still
// runs (semantics, sections 5.1 and 5.5).
//
// A step's micro-batches accumulate one after the other, each as its entry of the plan says. In one
// that starts sums, a bucket's sum starts the moment the last of its gradients is finished; all
// others only accumulate (no_sync). From then to its wait nobody may write to the bucket: the plan
// sees to that, and no executor asks. Without overlap the plan has no sums.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/autograd/gradient_sink.h"
#include "core/config/case.h"
#include "core/parallel/rank_context.h"
#include "core/train/gradient_buckets.h"

namespace lockstep {

// Main gradients become keep * what they are, plus the micro-batch's own where it adds.
struct MicroBatchEntry {
  std::string label;  // accumulate.micro_batch0
  double keep = 1.0;  // 0 in the first: whatever a step before left is gone, padding included
  bool adds = true;
  bool starts_sums = false;
};

struct OverlappedSum {
  std::string label;  // backward.dp_sum.bucket0
  BucketId bucket;
  GroupKind group = GroupKind::kWorld;
  std::vector<ParameterId> after;  // starts once these gradients are finished
};

struct AccumulationPlan {
  std::vector<MicroBatchEntry> micro_batches;  // a rank's own, in order
  std::vector<OverlappedSum> sums;             // at most one of a bucket
};

// Whether gradients are summed over data ranks while backward passes run.
bool overlaps_gradients(const Case& c);

// Sums start in the last micro-batch. Without overlap there are none here; finalisation has them.
AccumulationPlan plan_accumulation(const BucketPlan& buckets, const Case& c);
std::string to_text(const AccumulationPlan& plan);

// The executor. Everything given outlives it.
class MainGradientSink : public GradientSink {
 public:
  MainGradientSink(const RankContext& context,
                   const AccumulationPlan& plan,
                   const GradientBuckets& buckets);

  void begin_step();
  void begin_micro_batch(std::int64_t micro_batch);  // of the rank's own, from 0

  void accumulate(ParameterId parameter, const Tensor& gradient) override;
  // InternalError the second time in one micro-batch.
  void finished(ParameterId parameter) override;

  // InternalError where the bucket's sum has not started. Waiting again does nothing.
  void wait(BucketId bucket, std::string_view label);

 private:
  struct Progress {
    std::size_t num_left = 0;  // gradients of this micro-batch that its start waits for
    bool started = false;      // in this step
    Ticket ticket = {};
  };
  struct Gradient {
    std::vector<std::size_t> awaited_by = {};  // sums of the plan
    bool finished = false;                     // in the current micro-batch
  };

  // Index of the bucket's sum in the plan; none of a bucket that has none, or that is not there.
  std::optional<std::size_t> sum_of(BucketId bucket) const;
  void start(std::size_t sum);
  void wait_for_sum(std::size_t sum, std::string_view label);

  const RankContext& context_;
  const AccumulationPlan& plan_;
  const GradientBuckets& buckets_;
  std::vector<Gradient> gradients_;                 // by parameter
  std::vector<std::optional<std::size_t>> sum_of_;  // by bucket
  std::vector<Progress> progress_;                  // by sum of the plan
  const MicroBatchEntry* entry_ = nullptr;          // of the current micro-batch
};

}  // namespace lockstep
