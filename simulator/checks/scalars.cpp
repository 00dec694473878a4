// Relative errors of numbers, and their bits.
#include "simulator/checks/scalars.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "simulator/checks/holdings.h"

namespace lockstep::sim {
namespace {

constexpr double kSmallestLoss = 1e-3;

double relative_error(double value, double reference, double smallest_scale) {
  const double difference = std::abs(value - reference);
  if (difference == 0.0) return 0.0;
  return difference / std::max(std::abs(reference), smallest_scale);
}

// Any two numbers have a ratio: only one that group sizes explain says something.
std::string hint_of_number(double got, double reference, std::span<const NamedSize> sizes) {
  const std::string text =
      hint_of({.got = std::span(&got, 1), .reference = std::span(&reference, 1)}, sizes);
  return names_cause(text) || !std::isfinite(got) ? text : "";
}

void add(const std::vector<Rank>& ranks, Place& place) {
  place.ranks.insert(place.ranks.end(), ranks.begin(), ranks.end());
}

}  // namespace

double loss_error(double value, double reference) {
  return relative_error(value, reference, kSmallestLoss);
}

double norm_error(double value, double reference) {
  return relative_error(value, reference, std::numeric_limits<double>::min());
}

double count_error(double value, double reference) { return std::abs(value - reference); }

void compare_with_reference(const Scalar& scalar,
                            std::span<const RankValue> values,
                            std::span<const NamedSize> sizes,
                            Tally& tally) {
  if (values.empty()) return;
  Place place{.error = 0.0, .bound = scalar.bound};
  for (const RankValue& value : values) {
    const double error = scalar.error(value.value, scalar.reference);
    if (!(error <= scalar.bound)) add(value.ranks, place);
    if (!is_worse(error, place.error)) continue;
    place.error = error;
    place.hint = error <= scalar.bound ? "" : hint_of_number(value.value, scalar.reference, sizes);
  }
  if (!tally.counts(place.error, scalar.bound, static_cast<std::int64_t>(values.size()))) return;
  place.where = at_step(scalar.name, scalar.step);
  tally.add(std::move(place));
}

void compare_across_ranks(const Scalar& scalar, std::span<const RankValue> values, Tally& tally) {
  if (values.empty()) return;
  Place place;
  for (const RankValue& value : values.subspan(1)) {
    if (std::bit_cast<std::uint64_t>(value.value) ==
        std::bit_cast<std::uint64_t>(values.front().value)) {
      continue;
    }
    const double difference = std::max(std::abs(value.value - values.front().value),
                                       std::numeric_limits<double>::denorm_min());
    if (is_worse(difference, place.error)) place.error = difference;
    if (place.ranks.empty()) add(values.front().ranks, place);
    add(value.ranks, place);
  }
  const auto comparisons = static_cast<std::int64_t>(values.size()) - 1;
  if (!tally.counts(place.error, 0.0, comparisons)) return;
  place.where = at_step(scalar.name + " across ranks", scalar.step);
  tally.add(std::move(place));
}

}  // namespace lockstep::sim
