// Measures each rank's part alone; ratios first, then sums that did not happen.
#include "simulator/checks/blame.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/snapshot/stretches.h"
#include "simulator/checks/missing_sum.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

using Values = std::vector<double>;

struct Held {
  Values got;
  Values reference;
};

// The shard's values within [first, first + count) of the full tensor, and the reference's.
Held held_within(const Shard& shard,
                 const Values& reference,
                 std::int64_t first,
                 std::int64_t count) {
  Held held;
  for (const Stretch& stretch : stretches_of(shard)) {
    const std::int64_t begin = std::max(stretch.full, first);
    const std::int64_t end = std::min(stretch.full + stretch.count, first + count);
    for (std::int64_t i = begin; i < end; ++i) {
      held.got.push_back(shard.values[static_cast<std::size_t>(stretch.local + i - stretch.full)]);
      held.reference.push_back(reference[static_cast<std::size_t>(i)]);
    }
  }
  return held;
}

// What a ratio is looked for with.
struct Explainer {
  std::span<const NamedSize> sizes;
  HintTolerance tolerance;

  // A single number is explained by any ratio, which explains nothing; so are few numbers that
  // rounding blurs.
  std::string hint_of_held(const Held& held) const {
    const std::int64_t fewest = tolerance.is_exact() ? 2 : 8;
    const auto zeros = std::count(held.reference.begin(), held.reference.end(), 0.0);
    if (static_cast<std::int64_t>(held.reference.size()) - zeros < fewest) return "";
    return hint_of({.got = held.got, .reference = held.reference}, sizes, tolerance);
  }
};

// The tensor as a whole first, then its worst block.
std::string explain(const Shard& shard,
                    const Values& reference,
                    std::int64_t block,
                    const Explainer& explainer) {
  const auto all = static_cast<std::int64_t>(reference.size());
  std::string hint = explainer.hint_of_held(held_within(shard, reference, 0, all));
  if (!hint.empty()) return hint;
  return explainer.hint_of_held(
      held_within(shard, reference, block * kBlockElements, kBlockElements));
}

}  // namespace

void blame(const TrialResult& trial,
           std::span<const RankShard> shards,
           const Yardstick& against,
           std::span<const NamedSize> sizes,
           const HintTolerance& tolerance,
           Place& place) {
  const Explainer explainer{.sizes = sizes, .tolerance = tolerance};
  const Values& reference = against.reference.values;
  // Parts of one block may each be within the bound and not so together: then the worst is blamed.
  const RankShard* worst_holder = &shards.front();
  BlockError worst;
  std::optional<std::string> hint;  // the same for every rank that is wrong, or none
  for (const RankShard& held : shards) {
    const BlockError own = against.worst(deviations_of(*held.shard, against.reference));
    if (is_worse(excess(own.error, own.bound), excess(worst.error, worst.bound))) {
      worst = own;
      worst_holder = &held;
    }
    if (own.holds()) continue;
    place.ranks.push_back(held.rank);
    const std::string of_rank = explain(*held.shard, reference, own.block, explainer);
    hint = hint.value_or(of_rank) == of_rank ? of_rank : "";
  }
  if (place.ranks.empty()) {
    place.ranks.push_back(worst_holder->rank);
    hint = explain(*worst_holder->shard, reference, worst.block, explainer);
  }
  place.hint = hint.value_or("");
  if (names_cause(place.hint)) return;
  const std::string sum = missing_sum_hint(trial, shards, against);
  if (!sum.empty()) place.hint = sum;
}

}  // namespace lockstep::sim
