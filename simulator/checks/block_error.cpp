// Block norms, floors and the worst block.
#include "simulator/checks/block_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "core/snapshot/stretches.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

constexpr auto kBlockSize = static_cast<std::size_t>(kBlockElements);

// In partial sums, which a vector unit can add at once.
double sum_of_squares(std::span<const double> values) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  std::size_t first = 0;
  for (; first + kLanes <= values.size(); first += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[first + lane];
      lanes[lane] += value * value;
    }
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  for (; first < values.size(); ++first) sum += values[first] * values[first];
  return sum;
}

std::span<const double> block_of(std::span<const double> values, std::size_t block) {
  const std::size_t first = block * kBlockSize;
  return values.subspan(first, std::min(kBlockSize, values.size() - first));
}

// Squares of the tiniest deviations vanish: then the largest one stands for the norm.
double norm_of_deviations(std::span<const double> deviations) {
  const double norm = norm_of(deviations);
  if (norm != 0.0) return norm;
  return deviations.empty() ? 0.0 : *std::max_element(deviations.begin(), deviations.end());
}

}  // namespace

double norm_of(std::span<const double> values) { return std::sqrt(sum_of_squares(values)); }

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
  const std::size_t num_blocks = (values.size() + kBlockSize - 1) / kBlockSize;
  denominators_.reserve(num_blocks);
  for (std::size_t block = 0; block < num_blocks; ++block) {
    denominators_.push_back(std::max(norm_of(block_of(values, block)), floor));
  }
  bounds_.assign(num_blocks, kBoundF64);
}

BlockMeasure::BlockMeasure(const OracleTensor& reference,
                           double norm_of_all_tensors,
                           const OracleTensor& single_device)
    : BlockMeasure(reference, norm_of_all_tensors) {
  LOCKSTEP_CHECK(
      single_device.name == reference.name && single_device.shape == reference.shape,
      "the single-device run has " + single_device.name + " for the reference's " + reference.name);
  const std::span<const double> off = single_device.values;
  if (off.empty()) return;
  // What is smaller than any normal f32, and so than any bf16, cannot be told from 0 there.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  const double usual =
      std::max(norm_of(off) / std::sqrt(static_cast<double>(off.size())), kSmallest);
  for (std::size_t block = 0; block < denominators_.size(); ++block) {
    const std::span<const double> own = block_of(off, block);
    const double floor = usual * std::sqrt(static_cast<double>(own.size()));
    const double distance = kSingleDeviceFactor * std::max(norm_of(own), floor);
    // Where all of the reference is 0, nothing but 0 is right.
    bounds_[block] = denominators_[block] == 0.0 ? 0.0 : distance / denominators_[block];
  }
}

double BlockMeasure::error_of(std::span<const double> deviations, std::size_t block) const {
  const double difference = norm_of_deviations(block_of(deviations, block));
  // Not 0 / 0: a difference of 0 is no error whatever it is held against.
  return difference == 0.0 ? 0.0 : difference / denominators_[block];
}

BlockError BlockMeasure::worst(std::span<const double> deviations) const {
  BlockError worst;
  if (!bounds_.empty()) worst.bound = bounds_[0];
  double worst_excess = 0.0;
  for (std::size_t block = 0; block < denominators_.size(); ++block) {
    const double error = error_of(deviations, block);
    const double times = excess(error, bounds_[block]);
    if (!is_worse(times, worst_excess)) continue;
    worst_excess = times;
    worst = {.error = error, .bound = bounds_[block], .block = static_cast<std::int64_t>(block)};
  }
  return worst;
}

}  // namespace lockstep::sim
