// The probe plan and its executor.
#include "core/train/probes.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <numeric>
#include <optional>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/snapshot/stretches.h"

namespace lockstep {
namespace {

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(
      sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
}

std::uint64_t draw(std::string_view stream, const Recipe& recipe) {
  return random_bits(static_cast<std::uint64_t>(recipe.seed), stream_of(stream), 0);
}

PlantedElement planted_in(const ParameterTable& table,
                          ParameterId parameter,
                          double value,
                          const Recipe& recipe) {
  const ParameterSpec& spec = table[static_cast<std::size_t>(parameter.value)];
  const auto size = static_cast<std::uint64_t>(product(spec.full_shape));
  return {.parameter = parameter,
          .element = static_cast<std::int64_t>(draw("probe.element." + spec.name, recipe) % size),
          .value = value};
}

std::string_view area_of(ProbedCount count) {
  switch (count) {
    case ProbedCount::kGradientNorm:
      return "grad_norm";
    case ProbedCount::kGradientZeros:
      return "grad_zeros";
    case ProbedCount::kParameterNorm:
      return "param_norm";
  }
  throw InternalError("unknown probed count");
}

std::string label_of(ProbedCount count, std::string_view rest) {
  return fmt::format("probe.{}.{}", area_of(count), rest);
}

// A norm sees ones among zeros, the count of zeros sees zeros among ones.
void add_each_parameter(ProbePlan& plan, const ParameterTable& table, ProbedCount count) {
  const double value = count == ProbedCount::kGradientZeros ? 0.0 : 1.0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    plan.entries.push_back(
        {.label = label_of(count, table[i].name),
         .count = count,
         .background = 1.0 - value,
         .filled = FilledParameter{.parameter = {static_cast<int>(i)}, .value = value}});
  }
}

void add_norm(ProbePlan& plan, const ParameterTable& table, ProbedCount count) {
  plan.entries.push_back({.label = label_of(count, "ones"), .count = count, .background = 1.0});
  add_each_parameter(plan, table, count);
}

// A single one in one of the candidates, if there are any.
void add_single(ProbePlan& plan,
                const ParameterTable& table,
                const std::vector<ParameterId>& candidates,
                const Recipe& recipe) {
  if (candidates.empty()) return;
  const ParameterId chosen = candidates[draw("probe.single", recipe) % candidates.size()];
  const std::string& name = table[static_cast<std::size_t>(chosen.value)].name;
  plan.entries.push_back({.label = label_of(ProbedCount::kGradientNorm, "single." + name),
                          .planted = {planted_in(table, chosen, 1.0, recipe)}});
}

// Where the shard holds an element of the full tensor: a flat index, none where it does not.
std::optional<std::int64_t> local_element(const Shard& shard, std::int64_t element) {
  for (const Stretch& stretch : stretches_of(shard)) {
    const std::int64_t offset = element - stretch.full;
    if (offset >= 0 && offset < stretch.count) return stretch.local + offset;
  }
  return {};
}

void plant(const RankContext& context,
           const ProbeEntry& entry,
           const PlantedElement& planted,
           const ParameterTable& table,
           const GradientBuckets& buckets) {
  const ParameterSpec& spec = table.at(static_cast<std::size_t>(planted.parameter.value));
  const std::optional<std::int64_t> local =
      local_element(shard_of(spec, context.mesh, context.rank), planted.element);
  if (!local.has_value()) return;
  const Tensor& gradient = buckets.main_gradient(planted.parameter);
  const Tensor element = gradient.reshaped({gradient.num_elements()}).rows(*local, 1);
  write_reals(context.ops, std::array{planted.value}, element, entry.label);
}

double counted(const RankContext& context,
               ProbedCount count,
               const CountPlans& plans,
               std::span<const Tensor> tensors) {
  switch (count) {
    case ProbedCount::kGradientNorm:
      return norm(context, plans.gradient_norm, tensors);
    case ProbedCount::kGradientZeros:
      return static_cast<double>(num_zeros(context, plans.gradient_zeros, tensors));
    case ProbedCount::kParameterNorm:
      return norm(context, plans.parameter_norm, tensors);
  }
  throw InternalError("unknown probed count");
}

}  // namespace

ProbePlan plan_probes(const ParameterTable& table, const Recipe& recipe) {
  std::vector<ParameterId> cut;
  std::vector<ParameterId> whole;
  ProbeEntry zeros{.label = label_of(ProbedCount::kGradientZeros, "planted"),
                   .count = ProbedCount::kGradientZeros,
                   .background = 1.0};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const ParameterId id{static_cast<int>(i)};
    (table[i].cut.has_value() ? cut : whole).push_back(id);
    zeros.planted.push_back(planted_in(table, id, 0.0, recipe));
  }
  ProbePlan plan;
  add_norm(plan, table, ProbedCount::kGradientNorm);
  add_single(plan, table, cut, recipe);
  add_single(plan, table, whole, recipe);
  add_each_parameter(plan, table, ProbedCount::kGradientZeros);
  plan.entries.push_back(std::move(zeros));
  add_norm(plan, table, ProbedCount::kParameterNorm);
  return plan;
}

std::string to_text(const ProbePlan& plan) {
  std::string text;
  for (const ProbeEntry& entry : plan.entries) {
    text += fmt::format("{}: all {}", entry.label, entry.background);
    if (entry.filled.has_value()) {
      text +=
          fmt::format(", {} in parameter {}", entry.filled->value, entry.filled->parameter.value);
    }
    for (const PlantedElement& planted : entry.planted) {
      text += fmt::format(
          ", {} at {} of parameter {}", planted.value, planted.element, planted.parameter.value);
    }
    text += "\n";
  }
  return text;
}

std::vector<ProbeResult> run_probes(const RankContext& context,
                                    const ProbePlan& plan,
                                    const CountPlans& counts,
                                    const ParameterTable& table,
                                    const GradientBuckets& buckets) {
  std::vector<ProbeResult> results;
  for (const ProbeEntry& entry : plan.entries) {
    buckets.fill_all(entry.background, entry.label);
    if (entry.filled.has_value()) {
      fill(context.ops,
           buckets.main_gradient(entry.filled->parameter),
           entry.filled->value,
           entry.label);
    }
    for (const PlantedElement& planted : entry.planted) {
      plant(context, entry, planted, table, buckets);
    }
    results.push_back({.label = entry.label,
                       .value = counted(context, entry.count, counts, buckets.main_gradients())});
  }
  return results;
}

}  // namespace lockstep
