// The replicas check: groups holders by the elements they hold, and compares bits.
#include "simulator/checks/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/snapshot/stretches.h"
#include "simulator/checks/hint.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

struct Holder {
  RankShard held;
  std::vector<Stretch> stretches;
};

using Replicas = std::vector<const Holder*>;

bool holds_all(const Holder& holder) {
  return holder.stretches.size() == 1 &&
         holder.stretches.front().count == num_full_elements(*holder.held.shard);
}

// Ranks with nothing but padding hold the same nothing: replicas only where tp puts them together.
bool are_replicas(const Holder& a, const Holder& b, const Layout& layout) {
  if (!holds_same_elements(*a.held.shard, *b.held.shard)) return false;
  return !a.stretches.empty() || a.held.rank.value % layout.tp == b.held.rank.value % layout.tp;
}

std::vector<Replicas> groups_of(const std::vector<Holder>& holders, const Layout& layout) {
  std::vector<Replicas> groups;
  for (const Holder& holder : holders) {
    const auto own = std::find_if(groups.begin(), groups.end(), [&](const Replicas& group) {
      return are_replicas(*group.front(), holder, layout);
    });
    if (own == groups.end()) {
      groups.push_back({&holder});
    } else {
      own->push_back(&holder);
    }
  }
  return groups;
}

std::vector<double> values_of(const Holder& holder) {
  std::vector<double> values;
  for (const Stretch& stretch : holder.stretches) {
    const double* first = holder.held.shard->values.data() + stretch.local;
    values.insert(values.end(), first, first + stretch.count);
  }
  return values;
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return same_bits(x, y); });
}

// The largest difference; the smallest number there is where only the sign of a zero differs.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same_bits(a[i], b[i])) continue;
    const double difference =
        std::max(std::abs(a[i] - b[i]), std::numeric_limits<double>::denorm_min());
    if (is_worse(difference, largest)) largest = difference;
  }
  return largest;
}

// The values that more than half of the replicas have; those of the first where none are.
std::size_t index_of_majority(const std::vector<std::vector<double>>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto alike = std::count_if(values.begin(), values.end(), [&](const auto& other) {
      return same_bits(values[i], other);
    });
    if (2 * alike > static_cast<std::ptrdiff_t>(values.size())) return i;
  }
  return values.size();
}

// Names those who differ from the majority, all where there is none.
Place disagreement(const Replicas& group, const Case& c) {
  std::vector<std::vector<double>> values;
  for (const Holder* holder : group) values.push_back(values_of(*holder));
  Place place;
  const std::size_t majority = index_of_majority(values);
  const std::size_t right = majority < values.size() ? majority : 0;
  std::size_t worst = right;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = largest_difference(values[i], values[right]);
    if (majority == values.size() || difference != 0.0) place.ranks.push_back(group[i]->held.rank);
    if (!is_worse(difference, place.error)) continue;
    place.error = difference;
    worst = i;
  }
  place.hint = hint_of({.got = values[worst], .reference = values[right]}, sizes_of(c));
  return place;
}

// Without copies where both lie alike, which is the rule.
bool are_alike(const Holder& a, const Holder& b) {
  const Shard& shard_a = *a.held.shard;
  const Shard& shard_b = *b.held.shard;
  if (shard_a.slice != shard_b.slice || shard_a.local_shape != shard_b.local_shape) {
    return same_bits(values_of(a), values_of(b));
  }
  return std::all_of(a.stretches.begin(), a.stretches.end(), [&](const Stretch& stretch) {
    return std::memcmp(shard_a.values.data() + stretch.local,
                       shard_b.values.data() + stretch.local,
                       static_cast<std::size_t>(stretch.count) * sizeof(double)) == 0;
  });
}

void compare_group(const Replicas& group, const std::string& where, const Case& c, Tally& tally) {
  const bool agree = std::all_of(group.begin(), group.end(), [&](const Holder* holder) {
    return are_alike(*group.front(), *holder);
  });
  Place place = agree ? Place{} : disagreement(group, c);
  place.where = where;
  const auto comparisons = static_cast<std::int64_t>(group.size()) - 1;
  if (tally.counts(place.error, 0.0, comparisons)) tally.add(std::move(place));
}

std::int64_t num_expected(const std::vector<Holder>& holders, const Case& c) {
  const std::int64_t all = num_holders(c);
  const bool is_cut = !std::all_of(holders.begin(), holders.end(), holds_all);
  return is_cut ? c.layout.tp * (all / c.layout.tp - 1) : all - 1;
}

// What is wrong with how the tensor is dealt to ranks; empty where nothing is. Counts of
// comparisons alone would miss a rank that moved from one group to another.
std::string dealing_problem(const std::vector<Replicas>& groups, const Case& c) {
  const std::int64_t replicas = num_holders(c) / c.layout.tp;
  std::int64_t held = 0;
  for (const Replicas& group : groups) {
    for (const Stretch& stretch : group.front()->stretches) held += stretch.count;
    if (static_cast<std::int64_t>(group.size()) % replicas != 0) {
      return fmt::format("{} ranks hold the part of rank {}, expected a multiple of {}",
                         group.size(),
                         group.front()->held.rank.value,
                         replicas);
    }
  }
  const std::int64_t all =
      groups.empty() ? 0 : num_full_elements(*groups.front().front()->held.shard);
  if (held == all) return "";
  return fmt::format("its parts have {} elements together, the tensor {}", held, all);
}

void compare_tensor(const TrialResult& trial, const TensorId& id, Tally& tally) {
  std::vector<Holder> holders;
  for (const RankShard& held : shards_of(trial, id)) {
    const std::string problem = shard_problem(*held.shard);
    if (problem.empty()) {
      holders.push_back({.held = held, .stretches = stretches_of(*held.shard)});
    } else {
      tally.fail(
          fmt::format("{}: rank {}: {}", at_step(id.name, id.step), held.rank.value, problem));
    }
  }
  tally.expect(num_expected(holders, trial.c));
  const char* kind = id.kind == TensorKind::kGradient ? " (gradient)" : " (parameter)";
  const std::string where = at_step(std::string(id.name) + kind, id.step);
  const std::vector<Replicas> groups = groups_of(holders, trial.c.layout);
  const std::string problem = dealing_problem(groups, trial.c);
  if (!problem.empty()) tally.fail(where + ": " + problem);
  for (const Replicas& group : groups) {
    if (group.size() > 1) compare_group(group, where, trial.c, tally);
  }
}

}  // namespace

CheckResult check_replicas(const TrialResult& trial, const Oracle& oracle) {
  if (num_holders(trial.c) == 1) {
    return not_applicable("replicas", "a layout without tp and dp holds nothing twice");
  }
  Tally tally("replicas");
  for (const TensorKind kind : {TensorKind::kGradient, TensorKind::kParameter}) {
    const std::string misfit = misfit_of(trial, oracle, kind);
    if (!misfit.empty()) tally.fail(misfit);
  }
  for (std::size_t step = 0; step < oracle.steps.size(); ++step) {
    // Parameters differ because their gradients did: they come after.
    for (const TensorKind kind : {TensorKind::kGradient, TensorKind::kParameter}) {
      const std::vector<OracleTensor>& tensors = tensors_of(oracle.steps[step], kind);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        compare_tensor(
            trial, {.kind = kind, .step = step, .index = i, .name = tensors[i].name}, tally);
      }
      tally.end_step();
    }
  }
  return std::move(tally).conclude();
}

}  // namespace lockstep::sim
