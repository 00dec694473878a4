// Sums over the verdicts' counts.
#include "matrix/sweep/summary.h"

#include <numeric>

namespace lockstep::matrix {

std::int64_t SweepSummary::total() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t SweepSummary::num_bad() const {
  return count(Verdict::kFail) + count(Verdict::kError) + count(Verdict::kTimeout);
}

}  // namespace lockstep::matrix
