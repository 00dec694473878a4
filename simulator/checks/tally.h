// Counts a check's comparisons and keeps the worst place and the failing ones.
#pragma once

#include <string>

#include "simulator/checks/check_result.h"

namespace lockstep::sim {

// Whether error `a` is worse than `b`; NaN is the worst.
bool is_worse(double a, double b);

// How many times its bound an error is, so that errors with different bounds can be ranked; 0 where
// the error is 0. A bitwise comparison ranks as one with the bound of f64.
double excess(double error, double bound);

class Tally {
 public:
  explicit Tally(std::string check);

  void expect(std::int64_t comparisons) { result_.expected += comparisons; }

  // Counts comparisons, the worst of which holds when error <= bound. True where the place matters,
  // because it fails or is the worst so far: then the caller describes it with add().
  bool counts(double error, double bound, std::int64_t comparisons);
  void add(Place place);

  // A failure without a place. The first is told.
  void fail(const std::string& reason);

  // Called between stages of which the later follow from the earlier, as steps do: what fails after
  // the first failing stage follows from it, and is counted but not told.
  void end_stage();

  CheckResult conclude() &&;

 private:
  CheckResult result_;
  bool has_worst_ = false;
  bool is_muted_ = false;
};

CheckResult not_applicable(std::string check, std::string reason);

}  // namespace lockstep::sim
