// Expected values from the oracle's shapes, label by label.
#include "simulator/checks/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/snapshot/stretches.h"
#include "simulator/checks/hint.h"
#include "simulator/checks/holdings.h"

namespace lockstep::sim {
namespace {

constexpr std::string_view kPrefix = "probe.";
constexpr std::string_view kGradNorm = "grad_norm.";
constexpr std::string_view kParamNorm = "param_norm.";
constexpr std::string_view kZeros = "grad_zeros.";
constexpr std::string_view kAreas[] = {kGradNorm, kParamNorm, kZeros};
constexpr std::string_view kOnes = "ones";
constexpr std::string_view kPlanted = "planted";
constexpr std::string_view kSingle = "single.";

std::int64_t size_of(const OracleTensor& tensor) {
  return static_cast<std::int64_t>(tensor.values.size());
}

std::int64_t num_elements(const std::vector<OracleTensor>& parameters) {
  std::int64_t count = 0;
  for (const OracleTensor& tensor : parameters) count += size_of(tensor);
  return count;
}

const OracleTensor* find_parameter(const std::vector<OracleTensor>& parameters,
                                   std::string_view name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const auto& tensor) {
    return tensor.name == name;
  });
  return found == parameters.end() ? nullptr : &*found;
}

// What a probe says of its plan: how many elements it counts, all of which are the same.
struct Probe {
  std::string label;
  std::size_t index = 0;  // in each rank's list
  std::string where = {};
  std::int64_t elements = 0;
  bool is_norm = false;

  double expected() const {
    const auto count = static_cast<double>(elements);
    return is_norm ? std::sqrt(count) : count;
  }
};

// None for what plants nothing known.
std::optional<std::int64_t> elements_of(std::string_view planted,
                                        bool is_norm,
                                        const std::vector<OracleTensor>& parameters) {
  if (is_norm && planted == kOnes) return num_elements(parameters);
  if (!is_norm && planted == kPlanted) return static_cast<std::int64_t>(parameters.size());
  if (is_norm && planted.starts_with(kSingle)) {
    const bool is_known = find_parameter(parameters, planted.substr(kSingle.size())) != nullptr;
    return is_known ? std::optional<std::int64_t>(1) : std::nullopt;
  }
  const OracleTensor* const tensor = find_parameter(parameters, planted);
  return tensor == nullptr ? std::nullopt : std::optional<std::int64_t>(size_of(*tensor));
}

std::optional<Probe> probe_of(const std::string& label,
                              std::size_t index,
                              const std::vector<OracleTensor>& parameters) {
  for (const std::string_view area : kAreas) {
    const std::string head = std::string(kPrefix) + std::string(area);
    if (!label.starts_with(head)) continue;
    const std::string planted = label.substr(head.size());
    const bool is_norm = area != kZeros;
    const std::optional<std::int64_t> elements = elements_of(planted, is_norm, parameters);
    if (!elements.has_value()) return std::nullopt;
    const std::string count(area.substr(0, area.size() - 1));
    return Probe{.label = label,
                 .index = index,
                 .where = fmt::format("{} in {}", planted, count),
                 .elements = *elements,
                 .is_norm = is_norm};
  }
  return std::nullopt;
}

bool is_whole(const Shard& shard) {
  if (!shard_problem(shard).empty()) return false;
  const std::vector<Stretch> stretches = stretches_of(shard);
  return stretches.size() == 1 && stretches.front().count == num_full_elements(shard);
}

// Whether some rank holds less than all of it.
bool is_cut(const TrialResult& trial, std::size_t index, std::string_view name) {
  const std::vector<RankShard> shards =
      shards_of(trial, {.kind = TensorKind::kGradient, .index = index, .name = name});
  return !std::all_of(
      shards.begin(), shards.end(), [](const RankShard& held) { return is_whole(*held.shard); });
}

bool holds(const std::vector<std::string>& labels, const std::string& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// What the ranks should have planted and did not; empty where nothing is missing.
std::string missing_probe(const TrialResult& trial,
                          const std::vector<OracleTensor>& parameters,
                          const std::vector<std::string>& labels) {
  const auto lacks = [&](std::string_view area, std::string_view planted) {
    const std::string label = fmt::format("{}{}{}", kPrefix, area, planted);
    return holds(labels, label) ? "" : "no rank reports " + label;
  };
  std::string missing = lacks(kZeros, kPlanted);
  struct {
    bool is_there = false;
    bool is_planted = false;
  } whole, cut;
  for (const std::string_view area : {kGradNorm, kParamNorm}) {
    if (missing.empty()) missing = lacks(area, kOnes);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    for (const std::string_view area : kAreas) {
      if (missing.empty()) missing = lacks(area, name);
    }
    auto& kind = is_cut(trial, i, name) ? cut : whole;
    kind.is_there = true;
    if (lacks(kGradNorm, std::string(kSingle) + name).empty()) kind.is_planted = true;
  }
  if (!missing.empty()) return missing;
  const std::string none = "no rank reports a single one in a parameter that is ";
  if (whole.is_there && !whole.is_planted) return none + "not cut";
  if (cut.is_there && !cut.is_planted) return none + "cut";
  return "";
}

// "x0.5 = 1/tp" of the elements, or how many there are.
std::string hint_of_count(const Probe& probe, double value, std::span<const NamedSize> sizes) {
  if (!std::isfinite(value)) return "not finite";
  // Squares of ones add up to their number.
  const double counted = probe.is_norm ? value * value : value;
  const auto elements = static_cast<double>(probe.elements);
  const std::string ratio = explain_ratio(counted / elements, sizes);
  return names_cause(ratio) ? ratio
                            : fmt::format("{:.10g} of {} elements", counted, probe.elements);
}

void compare_probe(const TrialResult& trial,
                   const Probe& probe,
                   std::span<const NamedSize> sizes,
                   Tally& tally) {
  const double expected = probe.expected();
  std::optional<Place> failing;  // ranks of one wrong value are one place
  double wrong = 0.0;
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    const std::vector<ProbeResult>& probes = trial.ranks[rank].probes;
    if (probe.index >= probes.size() || probes[probe.index].label != probe.label) continue;
    const double value = probes[probe.index].value;
    const double error = std::abs(value - expected);
    if (!tally.counts(error, 0.0, 1)) continue;
    if (error == 0.0) {
      tally.add({.where = probe.where});
      continue;
    }
    if (failing.has_value() && value == wrong) {
      failing->ranks.push_back(Rank{static_cast<int>(rank)});
      continue;
    }
    if (failing.has_value()) tally.add(std::move(*failing));
    wrong = value;
    failing = Place{.where = probe.where,
                    .ranks = {Rank{static_cast<int>(rank)}},
                    .error = error,
                    .hint = hint_of_count(probe, value, sizes)};
  }
  if (failing.has_value()) tally.add(std::move(*failing));
}

std::vector<std::string> labels_of(const RankResult& rank) {
  std::vector<std::string> labels;
  for (const ProbeResult& probe : rank.probes) labels.push_back(probe.label);
  return labels;
}

}  // namespace

void compare_probes(const TrialResult& trial, const MeasuredOracle& oracle, Tally& tally) {
  const std::vector<OracleTensor>& parameters = oracle.initial_parameters();
  if (parameters.empty()) tally.fail("the reference has no parameters to plant probes in");
  if (trial.ranks.empty()) return;
  const std::vector<std::string> labels = labels_of(trial.ranks.front());
  for (std::size_t rank = 1; rank < trial.ranks.size(); ++rank) {
    if (labels_of(trial.ranks[rank]) == labels) continue;
    tally.fail(fmt::format("rank {} reports other probes than rank 0", rank));
  }
  const std::string missing = missing_probe(trial, parameters, labels);
  if (!missing.empty()) tally.fail(missing);
  // Counts are summed over the ranks of one model.
  std::vector<NamedSize> sizes = sizes_of(trial.c);
  std::erase_if(sizes,
                [](const NamedSize& size) { return size.name != "tp" && size.name != "pp"; });
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::optional<Probe> probe = probe_of(labels[i], i, parameters);
    if (!probe.has_value()) {
      tally.fail(fmt::format("{} plants nothing that this model has", labels[i]));
      continue;
    }
    tally.expect(world_size(trial.c.layout));
    compare_probe(trial, *probe, sizes, tally);
  }
}

}  // namespace lockstep::sim
