// Norms and counts over all ranks, which must meet every logical element once (semantics, 8.2).
//
// A part of a tensor is counted by each rank that holds one, a copy only by the first of its ranks,
// padding by nobody. The same form of plan serves the gradient norm, the zero count and the
// parameter norm; probes run each on planted values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/parallel/rank_context.h"
#include "core/train/gradient_buckets.h"

namespace lockstep {

// The rows of a padded cut of dim 0 that are real.
struct RealRows {
  Cut cut;
  std::int64_t full_size = 0;  // rows from here on are padding
};

struct CountEntry {
  std::string label;  // grad_norm.output_layer.weight
  ParameterId parameter;
  std::optional<GroupKind> copies = {};  // of this group only the first rank counts
  std::optional<RealRows> real = {};     // all elements where there is no padding
};

struct CountSum {
  std::string label;  // grad_norm.sum
  GroupKind group = GroupKind::kWorld;
};

struct CountPlan {
  std::string total_label;  // grad_norm.total: what entries add to
  double start = 0.0;       // of every rank's own total
  std::vector<CountEntry> entries = {};
  std::vector<CountSum> sums = {};  // of what ranks counted, one after the other
};

// `area` begins the labels: grad_norm, grad_zeros, param_norm.
CountPlan plan_count(const ParameterTable& table, const Layout& layout, std::string_view area);
std::string to_text(const CountPlan& plan);

// Of one tensor a parameter, by the table's order; summed in f64. The same on every rank of the
// groups that the plan sums over.
double norm(const RankContext& context, const CountPlan& plan, std::span<const Tensor> tensors);
std::int64_t num_zeros(const RankContext& context,
                       const CountPlan& plan,
                       std::span<const Tensor> tensors);

}  // namespace lockstep
