// Main gradients in buckets: contiguous blocks that are reduced as one (semantics, section 5).
//
// Gradients accumulate (+=) over the micro-batches of a step, in the accumulation type; a step's
// first micro-batch fills them with 0, gaps and padding included.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "core/autograd/gradient_sink.h"
#include "core/config/case.h"
#include "core/ops/context.h"
#include "core/parallel/placement.h"

namespace lockstep {

// Index of a bucket in its plan.
struct BucketId {
  int value = 0;
  auto operator<=>(const BucketId&) const = default;
};

struct BucketSlot {
  ParameterId parameter;
  std::int64_t offset = 0;  // elements
};

struct Bucket {
  std::vector<BucketSlot> slots;
  std::int64_t num_elements = 0;  // gaps between aligned slots included
};

struct BucketPlan {
  std::vector<Bucket> buckets;
};

// Parameters in reverse registration order, about the order in which gradients become ready. A
// bucket closes when it holds recipe.bucket_elements elements; 0 makes one bucket. Without backward
// passes there are none.
BucketPlan plan_buckets(const ParameterTable& table, const Recipe& recipe);
std::string to_text(const BucketPlan& plan, const ParameterTable& table);

// The executor: owns the memory.
class GradientBuckets {
 public:
  GradientBuckets(const OpContext& ops, const BucketPlan& plan, const ParameterTable& table);

  // Gaps between slots and padded rows too.
  void fill_all(double value, std::string_view label) const;
  void scale_all(double factor, std::string_view label) const;
  void accumulate(ParameterId parameter, const Tensor& gradient) const;

  // One-dimensional, in the plan's order.
  std::span<const Tensor> buckets() const { return buckets_; }
  const Tensor& bucket(BucketId id) const {
    return buckets_.at(static_cast<std::size_t>(id.value));
  }
  // Of the parameters' local shapes, in the table's order: views on the buckets. Empty for a
  // parameter that the plan leaves out.
  std::span<const Tensor> main_gradients() const { return main_gradients_; }
  const Tensor& main_gradient(ParameterId parameter) const;

 private:
  OpContext ops_;
  std::vector<Tensor> buckets_;
  std::vector<Tensor> main_gradients_;  // by parameter
  std::vector<std::string> labels_;     // by parameter
};

}  // namespace lockstep
