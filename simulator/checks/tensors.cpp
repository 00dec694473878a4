// By element the largest deviation over all holders, by block its norm, by tensor the worst block.
#include "simulator/checks/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/snapshot/stretches.h"
#include "simulator/checks/block_error.h"
#include "simulator/checks/hint.h"
#include "simulator/checks/missing_sum.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

using Values = std::vector<double>;

void raise(double& deviation, double got, double reference) {
  const double next = std::abs(got - reference);
  // NaN is kept, and nothing replaces it.
  if (next > deviation || next != next) deviation = next;
}

// Raises deviations where the shard has other bits than `known`, whose deviations are in already.
void raise_where_unlike(const Shard& shard,
                        const Values& known,
                        const Values& reference,
                        Values& deviations) {
  for (const Stretch& stretch : stretches_of(shard)) {
    const double* got = shard.values.data() + stretch.local;
    const auto first = static_cast<std::size_t>(stretch.full);
    const auto count = static_cast<std::size_t>(stretch.count);
    if (std::memcmp(got, known.data() + first, count * sizeof(double)) == 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      raise(deviations[first + i], got[i], reference[first + i]);
  }
}

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

// A single number is explained by any ratio, which explains nothing.
std::string hint_of_held(const Held& held, std::span<const NamedSize> sizes) {
  const auto zeros = std::count(held.reference.begin(), held.reference.end(), 0.0);
  if (static_cast<std::int64_t>(held.reference.size()) - zeros < 2) return "";
  return hint_of({.got = held.got, .reference = held.reference}, sizes);
}

// The tensor as a whole first, then its worst block.
std::string explain(const Shard& shard,
                    const Values& reference,
                    std::int64_t block,
                    std::span<const NamedSize> sizes) {
  const auto all = static_cast<std::int64_t>(reference.size());
  std::string hint = hint_of_held(held_within(shard, reference, 0, all), sizes);
  if (!hint.empty()) return hint;
  return hint_of_held(held_within(shard, reference, block * kBlockElements, kBlockElements), sizes);
}

class TensorComparison {
 public:
  TensorComparison(const TrialResult& trial, double bound, std::string check)
      : trial_(trial), bound_(bound), sizes_(sizes_of(trial.c)), tally_(std::move(check)) {}

  Tally& tally() { return tally_; }
  CheckResult conclude() && { return std::move(tally_).conclude(); }

  void compare(const TensorId& id, const OracleTensor& oracle, double norm_of_all_tensors) {
    const std::vector<RankShard> shards = shards_of(trial_, id);
    const Assembly assembly = assemble(shards);
    if (!assembly.problem.empty()) {
      tally_.fail(at_step(id.name, id.step) + ": " + assembly.problem);
      return;
    }
    if (shards.front().shard->full_shape != oracle.shape) {
      tally_.fail(at_step(id.name, id.step) + ": another full shape than the reference's");
      return;
    }
    Values deviations(oracle.values.size());
    for (std::size_t i = 0; i < deviations.size(); ++i) {
      raise(deviations[i], assembly.values[i], oracle.values[i]);
    }
    for (const RankShard& held : shards) {
      raise_where_unlike(*held.shard, assembly.values, oracle.values, deviations);
    }
    const BlockMeasure measure(oracle, norm_of_all_tensors);
    const BlockError worst = measure.worst(deviations);
    const auto comparisons = static_cast<std::int64_t>(shards.size());
    if (!tally_.counts(worst.error, bound_, comparisons)) return;
    Place place{.where = at_step(id.name, id.step), .error = worst.error, .bound = bound_};
    if (!(worst.error <= bound_)) blame(shards, oracle, measure, place);
    tally_.add(std::move(place));
  }

 private:
  // Names the ranks whose own part is wrong, and explains the worst of them.
  void blame(const std::vector<RankShard>& shards,
             const OracleTensor& oracle,
             const BlockMeasure& measure,
             Place& place) const {
    const RankShard* worst_holder = &shards.front();
    BlockError worst;
    for (const RankShard& held : shards) {
      const BlockError own = measure.worst(deviations_of(*held.shard, oracle));
      if (!(own.error <= bound_)) place.ranks.push_back(held.rank);
      if (!is_worse(own.error, worst.error)) continue;
      worst = own;
      worst_holder = &held;
    }
    // Parts of one block may each be within the bound and not so together.
    if (place.ranks.empty()) place.ranks.push_back(worst_holder->rank);
    place.hint = explain(*worst_holder->shard, oracle.values, worst.block, sizes_);
    if (names_cause(place.hint)) return;
    const std::string sum = missing_sum_hint(trial_, shards, oracle, measure, bound_);
    if (!sum.empty()) place.hint = sum;
  }

  const TrialResult& trial_;
  double bound_;
  std::vector<NamedSize> sizes_;
  Tally tally_;
};

}  // namespace

CheckResult compare_tensors(const std::string& check,
                            const TrialResult& trial,
                            const Oracle& oracle,
                            TensorKind kind) {
  const std::optional<double> bound = bound_of(trial.c.recipe.dtype);
  if (!bound) return not_applicable(check, "it compares f64 only");
  TensorComparison comparison(trial, *bound, check);
  const std::string misfit = misfit_of(trial, oracle, kind);
  if (!misfit.empty()) comparison.tally().fail(misfit);
  for (std::size_t step = 0; step < oracle.steps.size(); ++step) {
    const std::vector<OracleTensor>& tensors = tensors_of(oracle.steps[step], kind);
    const double norm = norm_of_all(tensors);
    comparison.tally().expect(static_cast<std::int64_t>(tensors.size()) * num_holders(trial.c));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      comparison.compare(
          {.kind = kind, .step = step, .index = i, .name = tensors[i].name}, tensors[i], norm);
    }
    comparison.tally().end_step();
  }
  return std::move(comparison).conclude();
}

}  // namespace lockstep::sim
