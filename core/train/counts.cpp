// The count plan and its executor.
#include "core/train/counts.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/ops/statistics.h"
#include "core/parallel/collectives.h"

namespace lockstep {
namespace {

using Statistic = Tensor (*)(const OpContext&, const Tensor&, std::string_view);

// What of a tensor this rank counts; empty for nothing.
Tensor counted_part(const RankContext& context, const CountEntry& entry, const Tensor& tensor) {
  if (entry.copies.has_value() && context.group_rank(*entry.copies).value != 0) return {};
  if (!entry.real.has_value()) return tensor;
  const Cut& cut = entry.real->cut;
  const ShardSlice slice =
      slice_of(cut, entry.real->full_size, context.mesh.coordinate(context.rank, cut.axis));
  if (slice.runs.empty()) return {};
  return tensor.rows(slice.runs[0].local, slice.runs[0].count);
}

double count(const RankContext& context,
             const CountPlan& plan,
             std::span<const Tensor> tensors,
             Statistic statistic) {
  const OpContext& ops = context.ops;
  const Tensor total =
      reals_from_host(ops, DType::kF64, std::array{plan.start}, {1}, plan.total_label);
  for (const CountEntry& entry : plan.entries) {
    const auto index = static_cast<std::size_t>(entry.parameter.value);
    LOCKSTEP_CHECK(index < tensors.size(), entry.label + " counts a tensor that is not there");
    const Tensor part = counted_part(context, entry, tensors[index]);
    if (!part) continue;
    accumulate(ops, {.x = statistic(ops, part, entry.label), .sum = total}, entry.label);
  }
  for (const CountSum& sum : plan.sums) {
    all_reduce(context, {.group = sum.group, .label = sum.label}, total);
  }
  return read_reals(ops, total, plan.total_label)[0];
}

std::optional<RealRows> real_rows(const ParameterSpec& spec) {
  if (!spec.cut.has_value()) return {};
  const Cut& cut = *spec.cut;
  const std::int64_t full_size = spec.full_shape.at(static_cast<std::size_t>(cut.dim));
  if (cut.num_parts * cut.part_size * cut.num_blocks == full_size) return {};
  LOCKSTEP_CHECK(cut.dim == 0 && cut.num_blocks == 1, spec.name + " is padded in an inner dim");
  return RealRows{.cut = cut, .full_size = full_size};
}

}  // namespace

CountPlan plan_count(const ParameterTable& table, const Layout& layout, std::string_view area) {
  CountPlan plan{.total_label = fmt::format("{}.total", area)};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const ParameterSpec& spec = table[i];
    const bool is_part = spec.cut.has_value() && spec.cut->axis == Axis::kTp;
    CountEntry entry{.label = fmt::format("{}.{}", area, spec.name),
                     .parameter = {static_cast<int>(i)},
                     .real = real_rows(spec)};
    if (layout.tp > 1 && !is_part) entry.copies = GroupKind::kTp;
    plan.entries.push_back(std::move(entry));
  }
  if (layout.tp * layout.pp > 1) {
    plan.sums.push_back({.label = fmt::format("{}.sum", area), .group = GroupKind::kModel});
  }
  return plan;
}

std::string to_text(const CountPlan& plan) {
  std::string text = fmt::format("{}: from {}\n", plan.total_label, plan.start);
  for (const CountEntry& entry : plan.entries) {
    text += fmt::format("{}: parameter {}", entry.label, entry.parameter.value);
    if (entry.copies.has_value()) {
      text += fmt::format(" on the first rank of {}", name_of(*entry.copies));
    }
    if (entry.real.has_value()) {
      text += fmt::format(", {} rows of {}", entry.real->full_size, to_text(entry.real->cut));
    }
    text += "\n";
  }
  for (const CountSum& sum : plan.sums) {
    text += fmt::format("{}: over {}\n", sum.label, name_of(sum.group));
  }
  return text;
}

double norm(const RankContext& context, const CountPlan& plan, std::span<const Tensor> tensors) {
  return std::sqrt(count(context, plan, tensors, sum_of_squares));
}

std::int64_t num_zeros(const RankContext& context,
                       const CountPlan& plan,
                       std::span<const Tensor> tensors) {
  return static_cast<std::int64_t>(count(context, plan, tensors, count_zeros));
}

}  // namespace lockstep
