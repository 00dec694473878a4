// The accumulation plan, and the sink that carries it out.
#include "core/train/main_gradient_sink.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {

bool overlaps_gradients(const Case& c) {
  const std::vector<std::string>& names = c.recipe.overlap;
  return c.layout.dp * c.layout.cp > 1 &&
         std::find(names.begin(), names.end(), "grad") != names.end();
}

AccumulationPlan plan_accumulation(const BucketPlan& buckets, const Case& c) {
  const bool overlaps = overlaps_gradients(c);
  const std::int64_t count = num_micro_batches(c);
  AccumulationPlan plan;
  for (std::int64_t m = 0; m < count; ++m) {
    plan.micro_batches.push_back({.label = fmt::format("accumulate.micro_batch{}", m),
                                  .keep = m == 0 ? 0.0 : 1.0,
                                  .starts_sums = overlaps && m == count - 1});
  }
  if (!overlaps) return plan;
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

std::string to_text(const AccumulationPlan& plan) {
  std::string text;
  for (const MicroBatchEntry& entry : plan.micro_batches) {
    text += fmt::format("{}: keep {}{}{}\n",
                        entry.label,
                        entry.keep,
                        entry.adds ? ", add" : "",
                        entry.starts_sums ? ", start sums" : "");
  }
  for (const OverlappedSum& sum : plan.sums) {
    text += fmt::format("{}: sum bucket {} over {} after parameters",
                        sum.label,
                        sum.bucket.value,
                        name_of(sum.group));
    for (const ParameterId parameter : sum.after) text += fmt::format(" {}", parameter.value);
    text += "\n";
  }
  return text;
}

MainGradientSink::MainGradientSink(const RankContext& context,
                                   const AccumulationPlan& plan,
                                   const GradientBuckets& buckets)
    : context_(context),
      plan_(plan),
      buckets_(buckets),
      gradients_(buckets.main_gradients().size()),
      sum_of_(buckets.buckets().size()),
      progress_(plan.sums.size()) {
  for (std::size_t i = 0; i < plan.sums.size(); ++i) {
    const OverlappedSum& sum = plan.sums[i];
    std::optional<std::size_t>& entry = sum_of_.at(static_cast<std::size_t>(sum.bucket.value));
    LOCKSTEP_CHECK(!entry.has_value(), sum.label + " is the second sum of its bucket");
    entry = i;
    for (const ParameterId parameter : sum.after) {
      gradients_.at(static_cast<std::size_t>(parameter.value)).awaited_by.push_back(i);
    }
  }
}

std::optional<std::size_t> MainGradientSink::sum_of(BucketId bucket) const {
  const auto index = static_cast<std::size_t>(bucket.value);
  return index < sum_of_.size() ? sum_of_[index] : std::nullopt;
}

void MainGradientSink::begin_step() {
  for (Progress& progress : progress_) progress = {};
}

void MainGradientSink::begin_micro_batch(std::int64_t micro_batch) {
  entry_ = &plan_.micro_batches.at(static_cast<std::size_t>(micro_batch));
  for (Gradient& gradient : gradients_) gradient.finished = false;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    progress_[i].num_left = plan_.sums[i].after.size();
  }
  // What an unfinished step left may be NaN, which no factor removes.
  if (entry_->keep == 0.0) return buckets_.fill_all(0.0, entry_->label);
  if (entry_->keep != 1.0) buckets_.scale_all(entry_->keep, entry_->label);
}

void MainGradientSink::accumulate(ParameterId parameter, const Tensor& gradient) {
  if (entry_->adds) buckets_.accumulate(parameter, gradient);
}

void MainGradientSink::finished(ParameterId parameter) {
  Gradient& gradient = gradients_.at(static_cast<std::size_t>(parameter.value));
  LOCKSTEP_CHECK(!gradient.finished,
                 fmt::format("the gradient of parameter {} is finished twice in one micro-batch",
                             parameter.value));
  gradient.finished = true;
  if (!entry_->starts_sums) return;
  for (const std::size_t sum : gradient.awaited_by) {
    if (--progress_[sum].num_left == 0) start(sum);
  }
}

// A bucket's sums follow one another: one that an earlier micro-batch started ends first.
void MainGradientSink::start(std::size_t sum) {
  const OverlappedSum& entry = plan_.sums[sum];
  wait_for_sum(sum, entry.label);
  const Buffer bucket = buckets_.bucket(entry.bucket).buffer();
  const CollectiveCall call{.label = entry.label,
                            .kind = CollectiveKind::kAllReduce,
                            .input = bucket,
                            .output = bucket,
                            .stream = context_.ops.stream};
  progress_[sum].started = true;
  progress_[sum].ticket = context_.communicators.of(entry.group).submit({&call, 1});
}

void MainGradientSink::wait_for_sum(std::size_t sum, std::string_view label) {
  if (!progress_[sum].started) return;
  wait_for(context_.ops.device, progress_[sum].ticket, label, context_.ops.stream);
  progress_[sum].ticket = {};
}

void MainGradientSink::wait(BucketId bucket, std::string_view label) {
  const std::optional<std::size_t> sum = sum_of(bucket);
  LOCKSTEP_CHECK(
      sum.has_value() && progress_[*sum].started,
      fmt::format("bucket{} is waited for, but its sum was never started", bucket.value));
  wait_for_sum(*sum, label);
}

}  // namespace lockstep
