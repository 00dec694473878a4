// Bins by the logarithm of error / bound.
#include "matrix/sweep/headroom.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"

namespace lockstep::matrix {

std::size_t Headroom::bin_of(double ratio) {
  const double place = (std::log10(ratio) - kFirstDecade) * kBinsPerDecade;
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(kNumBins - 1)));
}

double Headroom::upper_edge(std::size_t bin) {
  return std::pow(10.0, kFirstDecade + static_cast<double>(bin + 1) / kBinsPerDecade);
}

void Headroom::add(double error, double bound) {
  if (bound > 0.0) has_bound_ = true;
  if (error == 0.0) {
    ++num_cases_;
    ++num_zero_;
    return;
  }
  if (!(bound > 0.0)) return;
  const double ratio = std::isfinite(error) ? error / bound : HUGE_VAL;
  ++num_cases_;
  ++bins_[bin_of(ratio)];
  largest_ = std::max(largest_, ratio);
}

double Headroom::quantile(double share) const {
  LOCKSTEP_CHECK(share > 0.0 && share <= 1.0, "a share of cases is above 0 and at most 1");
  const auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(num_cases_)));
  std::int64_t num_within = num_zero_;
  if (num_within >= wanted) return 0.0;
  for (std::size_t bin = 0; bin + 1 < kNumBins; ++bin) {
    num_within += bins_[bin];
    if (num_within >= wanted) return std::min(upper_edge(bin), largest_);
  }
  return largest_;
}

}  // namespace lockstep::matrix
