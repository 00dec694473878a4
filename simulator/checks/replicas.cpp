// The replicas check: groups holders by the elements they hold, and compares bits.
#include "simulator/checks/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/comm/mesh.h"
#include "simulator/checks/dealing.h"
#include "simulator/checks/hint.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

struct Holder {
  const Part* part = nullptr;
  const Shard* shard = nullptr;
};

using Replicas = std::vector<Holder>;
using Indices = std::vector<std::size_t>;

bool holds_all(const Part& part) {
  return part.stretches.size() == 1 &&
         part.stretches.front().count == num_full_elements(part.frame);
}

// Ranks with nothing but padding hold the same nothing: replicas only where tp puts them together.
bool are_replicas(const Part& a, const Part& b, const Mesh& mesh) {
  if (!holds_same_elements(a.frame, b.frame)) return false;
  return !a.stretches.empty() ||
         mesh.coordinate(a.rank, Axis::kTp) == mesh.coordinate(b.rank, Axis::kTp);
}

// Indices of parts, by replica group.
std::vector<Indices> groups_of(const std::vector<Part>& parts, const Mesh& mesh) {
  std::vector<Indices> groups;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto own = std::find_if(groups.begin(), groups.end(), [&](const Indices& group) {
      return are_replicas(parts[group.front()], parts[i], mesh);
    });
    if (own == groups.end()) {
      groups.push_back({i});
    } else {
      own->push_back(i);
    }
  }
  return groups;
}

std::string where_of(const TensorId& id) {
  return at_step(fmt::format("{} ({})", id.name, name_of(id.kind)), id.step);
}

std::vector<double> values_of(const Holder& holder) {
  std::vector<double> values;
  for (const Stretch& stretch : holder.part->stretches) {
    const double* first = holder.shard->values.data() + stretch.local;
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
  for (const Holder& holder : group) values.push_back(values_of(holder));
  Place place;
  const std::size_t majority = index_of_majority(values);
  const std::size_t right = majority < values.size() ? majority : 0;
  std::size_t worst = right;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = largest_difference(values[i], values[right]);
    if (majority == values.size() || difference != 0.0) place.ranks.push_back(group[i].part->rank);
    if (!is_worse(difference, place.error)) continue;
    place.error = difference;
    worst = i;
  }
  place.hint = hint_of({.got = values[worst], .reference = values[right]}, sizes_of(c));
  return place;
}

// Without copies where both lie alike, which is the rule.
bool are_alike(const Holder& a, const Holder& b) {
  if (a.part->frame.slices == b.part->frame.slices &&
      a.part->frame.local_shape == b.part->frame.local_shape) {
    return are_same_bits(*a.part, *a.shard, *b.shard);
  }
  return same_bits(values_of(a), values_of(b));
}

void compare_group(const Replicas& group, const TensorId& id, const Case& c, Tally& tally) {
  const bool agree = std::all_of(group.begin(), group.end(), [&](const Holder& holder) {
    return are_alike(group.front(), holder);
  });
  Place place = agree ? Place{} : disagreement(group, c);
  const auto comparisons = static_cast<std::int64_t>(group.size()) - 1;
  if (!tally.counts(place.error, 0.0, comparisons)) return;
  place.where = where_of(id);
  tally.add(std::move(place));
}

std::int64_t num_expected(const std::vector<Part>& parts, const Case& c) {
  const std::int64_t all = num_holders(c);
  const bool is_cut = !std::all_of(parts.begin(), parts.end(), holds_all);
  return is_cut ? c.layout.tp * (all / c.layout.tp - 1) : all - 1;
}

// What is wrong with how the tensor is dealt to ranks; empty where nothing is. Counts of
// comparisons alone would miss a rank that moved from one group to another.
std::string dealing_problem(const std::vector<Part>& parts,
                            const std::vector<Indices>& groups,
                            const Case& c) {
  const std::int64_t replicas = num_holders(c) / c.layout.tp;
  std::int64_t held = 0;
  for (const Indices& group : groups) {
    const Part& first = parts[group.front()];
    for (const Stretch& stretch : first.stretches) held += stretch.count;
    if (static_cast<std::int64_t>(group.size()) % replicas != 0) {
      return fmt::format("{} ranks hold the part of rank {}, expected a multiple of {}",
                         group.size(),
                         first.rank.value,
                         replicas);
    }
  }
  const std::int64_t all = parts.empty() ? 0 : num_full_elements(parts.front().frame);
  if (held == all) return "";
  return fmt::format("its parts have {} elements together, the tensor {}", held, all);
}

// Who are replicas of whom in one tensor, and what is wrong with that.
struct Grouping {
  Dealing dealing;
  std::vector<Indices> groups = {};
  std::int64_t expected = 0;  // comparisons
  std::string problem = {};
};

class ReplicaComparison {
 public:
  explicit ReplicaComparison(const TrialResult& trial)
      : trial_(trial), mesh_(trial.c.layout), tally_("replicas") {}

  Tally& tally() { return tally_; }
  CheckResult conclude() && { return std::move(tally_).conclude(); }

  void compare(const TensorId& id) {
    const std::vector<RankShard> shards = shards_of(trial_, id);
    const Grouping& grouping = grouping_of(id.index, shards);
    tally_.expect(grouping.expected);
    if (!shards.empty() && grouping.dealing.parts.empty()) {
      tally_.fail(at_step(id.name, id.step) + ": " + grouping.dealing.problem);
      return;
    }
    if (!grouping.problem.empty()) tally_.fail(where_of(id) + ": " + grouping.problem);
    for (const Indices& group : grouping.groups) {
      if (group.size() < 2) continue;
      replicas_.clear();
      for (const std::size_t i : group) {
        replicas_.push_back({.part = &grouping.dealing.parts[i], .shard = shards[i].shard});
      }
      compare_group(replicas_, id, trial_.c, tally_);
    }
  }

 private:
  // Worked out once, for all kinds and steps that are dealt alike.
  const Grouping& grouping_of(std::size_t index, std::span<const RankShard> shards) {
    if (index >= known_.size()) known_.resize(index + 1);
    Grouping& known = known_[index];
    if (fits(known.dealing, shards)) return known;
    known = {.dealing = deal(shards)};
    const std::vector<Part>& parts = known.dealing.parts;
    known.groups = groups_of(parts, mesh_);
    known.expected = num_expected(parts, trial_.c);
    known.problem = dealing_problem(parts, known.groups, trial_.c);
    return known;
  }

  const TrialResult& trial_;
  Mesh mesh_;
  Tally tally_;
  std::vector<Grouping> known_;
  Replicas replicas_;  // kept for its memory
};

}  // namespace

CheckResult check_replicas(const TrialResult& trial, const MeasuredOracle& oracle) {
  if (trial.c.recipe.forward_only) return not_applicable("replicas", kForwardOnlyReason);
  if (num_holders(trial.c) == 1) {
    return not_applicable("replicas", "a layout without tp, cp and dp holds nothing twice");
  }
  ReplicaComparison comparison(trial);
  const std::vector<TensorKind> kinds = kinds_of(trial.c.recipe);
  for (const TensorKind kind : kinds) {
    const std::string misfit = misfit_of(trial, oracle, kind);
    if (!misfit.empty()) comparison.tally().fail(misfit);
  }
  for (std::size_t step = 0; step < oracle.steps().size(); ++step) {
    const std::vector<OracleTensor>& tensors = oracle.steps()[step].parameters;
    // State and parameters differ because gradients did: they come after.
    for (const TensorKind kind : kinds) {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        comparison.compare({.kind = kind, .step = step, .index = i, .name = tensors[i].name});
      }
      comparison.tally().end_stage();
    }
  }
  return std::move(comparison).conclude();
}

}  // namespace lockstep::sim
