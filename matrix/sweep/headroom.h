// How near cases come to a bound: the distribution of error / bound, one number a case.
//
// Counted in fixed bins, twenty a decade from 1e-16 to 1e4: however many cases there are it does
// not grow, and it is the same in every order of arrival. Quantiles are upper edges of bins and so
// at most 12.3 % too large; the largest is exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::matrix {

class Headroom {
 public:
  // The worst place of a case. Not an error at all counts as 0 of any bound; an error with a bound
  // of 0 is no share of anything and is not counted; what is not finite is beyond every bound.
  void add(double error, double bound);

  // Whether every bound was 0: the comparison is bitwise, and there is no distribution.
  bool is_exact() const { return !has_bound_; }

  // The error / bound that `share` of the cases do not exceed, 0 < share <= 1; 0 without cases.
  double quantile(double share) const;
  double largest() const { return largest_; }

 private:
  static constexpr int kBinsPerDecade = 20;
  static constexpr int kFirstDecade = -16;
  static constexpr int kLastDecade = 4;
  static constexpr std::size_t kNumBins = kBinsPerDecade * (kLastDecade - kFirstDecade);

  static std::size_t bin_of(double ratio);
  static double upper_edge(std::size_t bin);

  std::int64_t num_cases_ = 0;
  std::int64_t num_zero_ = 0;
  std::array<std::int64_t, kNumBins> bins_{};  // first and last also hold what is beyond them
  double largest_ = 0.0;
  bool has_bound_ = false;
};

}  // namespace lockstep::matrix
