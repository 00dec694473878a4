// Block norms, floors and the worst block.
#include "simulator/checks/block_error.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "core/snapshot/stretches.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

double sum_of_squares(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return sum;
}

double norm_of(std::span<const double> values) { return std::sqrt(sum_of_squares(values)); }

std::span<const double> block_of(std::span<const double> values, std::size_t block) {
  const std::size_t first = block * static_cast<std::size_t>(kBlockElements);
  return values.subspan(first,
                        std::min(static_cast<std::size_t>(kBlockElements), values.size() - first));
}

// Squares of the tiniest deviations vanish: then the largest one stands for the norm.
double norm_of_deviations(std::span<const double> deviations) {
  const double norm = norm_of(deviations);
  if (norm != 0.0) return norm;
  return deviations.empty() ? 0.0 : *std::max_element(deviations.begin(), deviations.end());
}

}  // namespace

std::optional<double> bound_of(Precision precision) {
  switch (precision) {
    case Precision::kF64:
      return kBoundF64;
    case Precision::kF32:
    case Precision::kBF16:
      return std::nullopt;
  }
  throw InternalError("unknown precision");
}

double norm_of_all(const std::vector<OracleTensor>& tensors) {
  double sum = 0.0;
  for (const OracleTensor& tensor : tensors) sum += sum_of_squares(tensor.values);
  return std::sqrt(sum);
}

std::vector<double> deviations_of(const Shard& shard, const OracleTensor& reference) {
  std::vector<double> deviations(reference.values.size());
  for (const Stretch& stretch : stretches_of(shard)) {
    for (std::int64_t i = 0; i < stretch.count; ++i) {
      const auto full = static_cast<std::size_t>(stretch.full + i);
      const double value = shard.values[static_cast<std::size_t>(stretch.local + i)];
      deviations[full] = std::abs(value - reference.values[full]);
    }
  }
  return deviations;
}

BlockMeasure::BlockMeasure(const OracleTensor& reference, double norm_of_all_tensors) {
  const std::span<const double> values = reference.values;
  const double floor = std::max(1e-3 * norm_of(values), 1e-6 * norm_of_all_tensors);
  const auto block_elements = static_cast<std::size_t>(kBlockElements);
  const std::size_t num_blocks = (values.size() + block_elements - 1) / block_elements;
  for (std::size_t block = 0; block < num_blocks; ++block) {
    denominators_.push_back(std::max(norm_of(block_of(values, block)), floor));
  }
}

BlockError BlockMeasure::worst(std::span<const double> deviations) const {
  BlockError worst;
  for (std::size_t block = 0; block < denominators_.size(); ++block) {
    const double difference = norm_of_deviations(block_of(deviations, block));
    // Not 0 / 0: a difference of 0 is no error whatever it is held against.
    const double error = difference == 0.0 ? 0.0 : difference / denominators_[block];
    if (is_worse(error, worst.error)) {
      worst = {.error = error, .block = static_cast<std::int64_t>(block)};
    }
  }
  return worst;
}

}  // namespace lockstep::sim
