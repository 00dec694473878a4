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

constexpr std::string_view kOnes = "probe.ones";
constexpr std::string_view kZeros = "probe.zeros";
constexpr std::string_view kSingle = "probe.single.";

struct Expected {
  double squares = 0.0;  // of the norm
  std::int64_t zeros = 0;
};

std::int64_t num_elements(const std::vector<OracleTensor>& parameters) {
  std::int64_t count = 0;
  for (const OracleTensor& tensor : parameters) {
    count += static_cast<std::int64_t>(tensor.values.size());
  }
  return count;
}

bool has_parameter(const std::vector<OracleTensor>& parameters, std::string_view name) {
  return std::any_of(parameters.begin(), parameters.end(), [&](const OracleTensor& tensor) {
    return tensor.name == name;
  });
}

// None for a label that plants nothing known.
std::optional<Expected> expected_of(std::string_view label,
                                    const std::vector<OracleTensor>& parameters) {
  const std::int64_t all = num_elements(parameters);
  const auto planted_zeros = static_cast<std::int64_t>(parameters.size());
  if (label == kOnes) return Expected{.squares = static_cast<double>(all), .zeros = 0};
  if (label == kZeros) {
    return Expected{.squares = static_cast<double>(all - planted_zeros), .zeros = planted_zeros};
  }
  if (label.starts_with(kSingle) && has_parameter(parameters, label.substr(kSingle.size()))) {
    return Expected{.squares = 1.0, .zeros = all - 1};
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

bool plants_single_in(const std::vector<std::string>& labels, std::string_view name) {
  return std::any_of(labels.begin(), labels.end(), [&](const std::string& label) {
    return label.starts_with(kSingle) && label.substr(kSingle.size()) == name;
  });
}

// What the ranks should have planted and did not; empty where nothing is missing.
std::string missing_probe(const TrialResult& trial,
                          const std::vector<OracleTensor>& parameters,
                          const std::vector<std::string>& labels) {
  for (const std::string_view label : {kOnes, kZeros}) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) {
      return fmt::format("no rank reports {}", label);
    }
  }
  bool has[2] = {false, false};
  bool planted[2] = {false, false};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool cut = is_cut(trial, i, parameters[i].name);
    has[cut ? 1 : 0] = true;
    if (plants_single_in(labels, parameters[i].name)) planted[cut ? 1 : 0] = true;
  }
  if (has[0] && !planted[0]) return "no rank reports a single one in a parameter that is not cut";
  if (has[1] && !planted[1]) return "no rank reports a single one in a parameter that is cut";
  return "";
}

struct Probe {
  std::string label;
  std::size_t index = 0;  // in each rank's list
  Expected expected = {};
};

void compare_probe(const TrialResult& trial,
                   const Probe& probe,
                   std::span<const NamedSize> sizes,
                   Tally& tally) {
  const double norm = std::sqrt(probe.expected.squares);
  for (std::size_t rank = 0; rank < trial.ranks.size(); ++rank) {
    const std::vector<ProbeResult>& probes = trial.ranks[rank].probes;
    if (probe.index >= probes.size() || probes[probe.index].label != probe.label) continue;
    const ProbeResult& got = probes[probe.index];
    const Rank holder{static_cast<int>(rank)};
    const double norm_error = std::abs(got.norm - norm);
    if (tally.counts(norm_error, 0.0, 1)) {
      // Squares add up by counts: their ratio is what a group size explains.
      const std::string ratio =
          norm_error == 0.0 ? ""
                            : explain_ratio(got.norm * got.norm / probe.expected.squares, sizes);
      tally.add({.where = fmt::format("{}: norm {}, expected {}", probe.label, got.norm, norm),
                 .ranks = norm_error == 0.0 ? std::vector<Rank>{} : std::vector<Rank>{holder},
                 .error = norm_error,
                 .hint = names_cause(ratio) ? "norm^2 " + ratio : ""});
    }
    const auto zeros_error = std::abs(static_cast<double>(got.zeros - probe.expected.zeros));
    if (tally.counts(zeros_error, 0.0, 1)) {
      tally.add({.where = fmt::format(
                     "{}: {} zeros, expected {}", probe.label, got.zeros, probe.expected.zeros),
                 .ranks = {holder},
                 .error = zeros_error});
    }
  }
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
  const std::vector<NamedSize> sizes = sizes_of(trial.c);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::optional<Expected> expected = expected_of(labels[i], parameters);
    if (!expected.has_value()) {
      tally.fail(fmt::format("{} plants nothing that this model has", labels[i]));
      continue;
    }
    tally.expect(2 * world_size(trial.c.layout));
    compare_probe(trial, {.label = labels[i], .index = i, .expected = *expected}, sizes, tally);
  }
}

}  // namespace lockstep::sim
