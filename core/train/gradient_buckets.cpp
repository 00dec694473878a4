// The bucket plan and the buckets themselves.
#include "core/train/gradient_buckets.h"

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/model/parameters.h"
#include "core/ops/elementwise.h"

namespace lockstep {

BucketPlan plan_buckets(const ParameterTable& table, const Recipe& recipe) {
  BucketPlan plan;
  if (recipe.forward_only) return plan;
  std::vector<ParameterId> members;
  std::vector<std::int64_t> sizes;
  const auto close = [&] {
    const BlockLayout layout = lay_out(sizes);
    Bucket bucket{.slots = {}, .num_elements = layout.num_elements};
    for (std::size_t i = 0; i < members.size(); ++i) {
      bucket.slots.push_back({.parameter = members[i], .offset = layout.offsets[i]});
    }
    plan.buckets.push_back(std::move(bucket));
    members.clear();
    sizes.clear();
  };
  std::int64_t elements = 0;
  for (std::size_t i = table.size(); i-- > 0;) {
    members.push_back({static_cast<int>(i)});
    sizes.push_back(local_tensor_shape(table[i]).num_elements());
    elements += sizes.back();
    if (recipe.bucket_elements > 0 && elements >= recipe.bucket_elements) {
      close();
      elements = 0;
    }
  }
  if (!members.empty()) close();
  return plan;
}

std::string to_text(const BucketPlan& plan, const ParameterTable& table) {
  std::string text;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    text += fmt::format("bucket{}: {} elements\n", i, plan.buckets[i].num_elements);
    for (const BucketSlot& slot : plan.buckets[i].slots) {
      text += fmt::format(
          "  {} at {}\n", table[static_cast<std::size_t>(slot.parameter.value)].name, slot.offset);
    }
  }
  return text;
}

GradientBuckets::GradientBuckets(const OpContext& ops,
                                 const BucketPlan& plan,
                                 const ParameterTable& table)
    : ops_(ops), main_gradients_(table.size()) {
  for (const Bucket& bucket : plan.buckets) {
    buckets_.push_back(new_tensor(ops, ops.main_dtype(), {bucket.num_elements}, "gradients"));
    for (const BucketSlot& slot : bucket.slots) {
      const auto index = static_cast<std::size_t>(slot.parameter.value);
      const Shape shape = local_tensor_shape(table.at(index));
      main_gradients_.at(index) =
          buckets_.back().rows(slot.offset, shape.num_elements()).reshaped(shape);
    }
  }
  for (const ParameterSpec& spec : table) labels_.push_back("accumulate." + spec.name);
}

void GradientBuckets::fill_all(double value, std::string_view label) const {
  for (const Tensor& bucket : buckets_) fill(ops_, bucket, value, label);
}

void GradientBuckets::scale_all(double factor, std::string_view label) const {
  for (const Tensor& bucket : buckets_) scale_in_place(ops_, bucket, factor, label);
}

void GradientBuckets::accumulate(ParameterId parameter, const Tensor& gradient) const {
  lockstep::accumulate(ops_,
                       {.x = gradient, .sum = main_gradient(parameter)},
                       labels_.at(static_cast<std::size_t>(parameter.value)));
}

const Tensor& GradientBuckets::main_gradient(ParameterId parameter) const {
  const Tensor& gradient = main_gradients_.at(static_cast<std::size_t>(parameter.value));
  LOCKSTEP_CHECK(static_cast<bool>(gradient), "the bucket plan leaves a parameter out");
  return gradient;
}

}  // namespace lockstep
