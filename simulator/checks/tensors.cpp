// By element the largest deviation over all holders, by block its norm, by tensor the worst block.
#include "simulator/checks/tensors.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "simulator/checks/blame.h"

namespace lockstep::sim {
namespace {

std::string where_of(const ComparedTensor& tensor) {
  const std::string& name = tensor.against.reference.name;
  if (!tensor.micro_batch.has_value()) return at_step(name, tensor.step);
  return at_step(fmt::format("{}, micro-batch {}", name, *tensor.micro_batch), tensor.step);
}

// NaN is kept, and nothing replaces it.
void raise(double& deviation, double next) {
  if (next > deviation || next != next) deviation = next;
}

}  // namespace

TensorComparison::TensorComparison(const TrialResult& trial, std::string check)
    : trial_(trial),
      sizes_(sizes_of(trial.c)),
      tolerance_(hint_tolerance(trial.c.recipe.dtype)),
      tally_(std::move(check)) {}

void TensorComparison::measure_deviations(const Dealing& dealing,
                                          std::span<const RankShard> shards,
                                          const std::vector<double>& reference) {
  deviations_.resize(reference.size());
  for (const Piece& piece : dealing.cover) {
    const double* const got = shards[piece.part].shard->values.data() + piece.stretch.local;
    const double* const right = reference.data() + piece.stretch.full;
    double* const deviations = deviations_.data() + piece.stretch.full;
    const auto count = static_cast<std::size_t>(piece.stretch.count);
    for (std::size_t i = 0; i < count; ++i) deviations[i] = std::abs(got[i] - right[i]);
  }
  for (std::size_t p = 0; p < dealing.parts.size(); ++p) {
    const Part& part = dealing.parts[p];
    if (part.supplies_all) continue;
    const Shard& shard = *shards[p].shard;
    const bool is_copy = part.first_alike != p;
    if (is_copy && are_same_bits(part, *shards[part.first_alike].shard, shard)) continue;
    for (const Stretch& stretch : part.stretches) {
      for (std::int64_t i = 0; i < stretch.count; ++i) {
        const auto full = static_cast<std::size_t>(stretch.full + i);
        const double value = shard.values[static_cast<std::size_t>(stretch.local + i)];
        raise(deviations_[full], std::abs(value - reference[full]));
      }
    }
  }
}

void TensorComparison::compare(std::span<const RankShard> shards, const ComparedTensor& tensor) {
  const Dealing& dealing = dealings_.of(tensor.index, shards);
  if (!dealing.problem.empty()) {
    tally_.fail(where_of(tensor) + ": " + dealing.problem);
    return;
  }
  const OracleTensor& reference = tensor.against.reference;
  if (dealing.parts.front().frame.full_shape != reference.shape) {
    tally_.fail(where_of(tensor) + ": another full shape than the reference's");
    return;
  }
  measure_deviations(dealing, shards, reference.values);
  const BlockError worst = tensor.against.worst(deviations_);
  if (!tally_.counts(worst.error, worst.bound, static_cast<std::int64_t>(shards.size()))) return;
  Place place{.where = where_of(tensor), .error = worst.error, .bound = worst.bound};
  place.distance = tensor.distance;
  if (!worst.holds()) blame(trial_, shards, tensor.against, sizes_, tolerance_, place);
  tally_.add(std::move(place));
}

CheckResult compare_tensors(const std::string& check,
                            const TrialResult& trial,
                            const MeasuredOracle& oracle,
                            const ComparedKind& kind) {
  TensorComparison comparison(trial, check);
  if (kind.is_by_any_factor) comparison.set_tolerance(kExactHints);
  const std::string misfit = misfit_of(trial, oracle, kind.kind);
  if (!misfit.empty()) comparison.tally().fail(misfit);
  for (std::size_t step = 0; step < oracle.steps().size(); ++step) {
    const std::vector<OracleTensor>& references = oracle.steps()[step].*kind.reference;
    const std::vector<BlockMeasure>& measures = oracle.measures(step).*kind.measures;
    comparison.explain_with_targets(oracle.steps()[step].num_targets());
    comparison.tally().expect(static_cast<std::int64_t>(references.size()) * num_holders(trial.c));
    for (std::size_t i = 0; i < references.size(); ++i) {
      const TensorId id{.kind = kind.kind, .step = step, .index = i, .name = references[i].name};
      const Yardstick against{.reference = references[i], .measure = measures[i]};
      // A wrong gradient makes those of all earlier layers wrong.
      const auto distance = static_cast<std::int64_t>(references.size() - 1 - i);
      comparison.compare(shards_of(trial, id),
                         {.against = against, .index = i, .step = step, .distance = distance});
    }
    comparison.tally().end_stage();
  }
  return std::move(comparison).conclude();
}

}  // namespace lockstep::sim
