// The outcome of one check on one trial, as the result line tells it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"

namespace lockstep::sim {

enum class CheckVerdict { kPass, kFail, kNotApplicable };

// One compared place: where it is, how far it was from right, and what explains it.
struct Place {
  std::string where = {};  // tensor, micro-batch or call
  std::vector<Rank> ranks = {};
  double error = 0.0;     // not finite: NaN or infinity was found
  double bound = 0.0;     // 0: bitwise
  std::string hint = {};  // "x0.5 = 1/tp or 1/dp"; empty where no simple ratio explains it
  // Of places that are wrong together the one with the smaller distance is nearer to the cause.
  std::int64_t distance = 0;
};

inline constexpr std::size_t kMaxPlaces = 16;

struct CheckResult {
  std::string check = {};
  CheckVerdict verdict = CheckVerdict::kNotApplicable;
  std::int64_t expected = 0;  // comparisons this check should make for this case
  std::int64_t compared = 0;  // comparisons it made; unequal is a failure
  std::string reason = {};    // of n/a, or of a failure that has no place
  Place worst = {};           // even when it passes
  // At most kMaxPlaces, those with a cause in their hint, then the nearest to it, then the worst;
  // in the order in which they are told: as above, but by name where the nearest are as near.
  std::vector<Place> failures = {};
};

}  // namespace lockstep::sim
