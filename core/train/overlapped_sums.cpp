// The overlap plan and its executor.
#include "core/train/overlapped_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {

bool overlaps_gradients(const Case& c) {
  const std::vector<std::string>& names = c.recipe.overlap;
  return c.layout.dp * c.layout.cp > 1 &&
         std::find(names.begin(), names.end(), "grad") != names.end();
}

OverlapPlan plan_overlap(const BucketPlan& buckets, const Case& c) {
  OverlapPlan plan{.micro_batch = num_micro_batches(c) - 1, .sums = {}};
  if (!overlaps_gradients(c)) return plan;
  for (std::size_t i = 0; i < buckets.buckets.size(); ++i) {
    OverlappedSum sum{.label = fmt::format("backward.dp_sum.bucket{}", i),
                      .bucket = {static_cast<int>(i)},
                      .group = GroupKind::kDpCp,
                      .after = {}};
    for (const BucketSlot& slot : buckets.buckets[i].slots) sum.after.push_back(slot.parameter);
    plan.sums.push_back(std::move(sum));
  }
  return plan;
}

std::string to_text(const OverlapPlan& plan) {
  std::string text;
  for (const OverlappedSum& sum : plan.sums) {
    text += fmt::format("{}: sum bucket {} over {} in micro-batch {} after parameters",
                        sum.label,
                        sum.bucket.value,
                        name_of(sum.group),
                        plan.micro_batch);
    for (const ParameterId parameter : sum.after) text += fmt::format(" {}", parameter.value);
    text += "\n";
  }
  return text;
}

OverlappedSums::OverlappedSums(const RankContext& context,
                               const OverlapPlan& plan,
                               const BucketPlan& bucket_plan,
                               const GradientBuckets& buckets)
    : context_(context),
      plan_(plan),
      buckets_(buckets),
      bucket_of_(buckets.main_gradients().size(), BucketId{-1}),
      progress_(plan.sums.size()),
      finished_(buckets.main_gradients().size(), 0) {
  for (std::size_t i = 0; i < bucket_plan.buckets.size(); ++i) {
    for (const BucketSlot& slot : bucket_plan.buckets[i].slots) {
      bucket_of_.at(static_cast<std::size_t>(slot.parameter.value)) = {static_cast<int>(i)};
    }
  }
}

void OverlappedSums::begin_step() {
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    progress_[i] = {.num_left = plan_.sums[i].after.size()};
  }
}

void OverlappedSums::begin_micro_batch(std::int64_t micro_batch) {
  starts_sums_ = micro_batch == plan_.micro_batch;
  std::fill(finished_.begin(), finished_.end(), 0);
}

void OverlappedSums::accumulate(ParameterId parameter, const Tensor& gradient) {
  const BucketId bucket = bucket_of_.at(static_cast<std::size_t>(parameter.value));
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    LOCKSTEP_CHECK(!(progress_[i].started && plan_.sums[i].bucket == bucket),
                   fmt::format("a gradient of parameter {} came after {} was started",
                               parameter.value,
                               plan_.sums[i].label));
  }
  buckets_.accumulate(parameter, gradient);
}

void OverlappedSums::finished(ParameterId parameter) {
  char& is_finished = finished_.at(static_cast<std::size_t>(parameter.value));
  LOCKSTEP_CHECK(is_finished == 0,
                 fmt::format("the gradient of parameter {} is finished twice in one micro-batch",
                             parameter.value));
  is_finished = 1;
  if (!starts_sums_) return;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const std::vector<ParameterId>& after = plan_.sums[i].after;
    if (std::find(after.begin(), after.end(), parameter) == after.end()) continue;
    if (--progress_[i].num_left == 0) start(i);
  }
}

void OverlappedSums::start(std::size_t sum) {
  const OverlappedSum& entry = plan_.sums[sum];
  const Buffer bucket = buckets_.bucket(entry.bucket).buffer();
  const CollectiveCall call{.label = entry.label,
                            .kind = CollectiveKind::kAllReduce,
                            .input = bucket,
                            .output = bucket,
                            .stream = context_.ops.stream};
  progress_[sum].started = true;
  progress_[sum].ticket = context_.communicators.of(entry.group).submit({&call, 1});
}

void OverlappedSums::wait(BucketId bucket, std::string_view label) {
  bool started = false;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    if (plan_.sums[i].bucket != bucket || !progress_[i].started) continue;
    started = true;
    wait_for(context_.ops.device, progress_[i].ticket, label, context_.ops.stream);
    progress_[i].ticket = {};
  }
  LOCKSTEP_CHECK(
      started, fmt::format("bucket{} is waited for, but its sum was never started", bucket.value));
}

}  // namespace lockstep
