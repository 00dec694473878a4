// Where gradients go from a backward pass: to their buckets, whose sums may start while it still
// runs (semantics, section 5.5).
//
// A bucket's sum starts the moment the last of its gradients is finished, in the micro-batch that
// the plan names; all others only accumulate (no_sync). From then to its wait nobody may write to
// the bucket. Without overlap the plan has no sums: every micro-batch only accumulates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/autograd/gradient_sink.h"
#include "core/config/case.h"
#include "core/parallel/rank_context.h"
#include "core/train/gradient_buckets.h"

namespace lockstep {

struct OverlappedSum {
  std::string label;  // backward.dp_sum.bucket0
  BucketId bucket;
  GroupKind group = GroupKind::kWorld;
  std::vector<ParameterId> after;  // starts once these gradients are finished
};

struct OverlapPlan {
  std::int64_t micro_batch = 0;     // which of a rank's own
  std::vector<OverlappedSum> sums;  // at most one of a bucket
};

// Whether gradients are summed over data ranks while backward passes run.
bool overlaps_gradients(const Case& c);

// Without overlap there are no sums here; finalisation has them.
OverlapPlan plan_overlap(const BucketPlan& buckets, const Case& c);
std::string to_text(const OverlapPlan& plan);

// The executor. Everything given outlives it.
class MainGradientSink : public GradientSink {
 public:
  MainGradientSink(const RankContext& context,
                   const OverlapPlan& plan,
                   const BucketPlan& bucket_plan,
                   const GradientBuckets& buckets);

  void begin_step();
  void begin_micro_batch(std::int64_t micro_batch);  // of the rank's own, from 0

  // InternalError where the bucket's sum has started.
  void accumulate(ParameterId parameter, const Tensor& gradient) override;
  // InternalError the second time in one micro-batch.
  void finished(ParameterId parameter) override;

  // InternalError where the bucket's sum has not started. Waiting again does nothing.
  void wait(BucketId bucket, std::string_view label);

 private:
  struct Progress {
    std::size_t num_left = 0;  // gradients that its start waits for
    bool started = false;
    Ticket ticket = {};
  };
  struct Gradient {
    BucketId bucket{-1};
    std::vector<std::size_t> awaited_by = {};  // sums of the plan
    bool finished = false;                     // in the current micro-batch
  };

  // Index of the bucket's sum in the plan; none of a bucket that has none, or that is not there.
  std::optional<std::size_t> sum_of(BucketId bucket) const;
  void start(std::size_t sum);

  const RankContext& context_;
  const OverlapPlan& plan_;
  const GradientBuckets& buckets_;
  std::vector<Gradient> gradients_;                 // by parameter
  std::vector<std::optional<std::size_t>> sum_of_;  // by bucket
  std::vector<Progress> progress_;                  // by sum of the plan
  bool starts_sums_ = false;                        // in the current micro-batch
};

}  // namespace lockstep
