// How many cases ended how, how fast, and how near to each bound: what summary.json holds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "matrix/sweep/case_result.h"
#include "matrix/sweep/headroom.h"

namespace lockstep::matrix {

inline constexpr std::array kAllVerdicts = {Verdict::kPass,
                                            Verdict::kFail,
                                            Verdict::kError,
                                            Verdict::kTimeout,
                                            Verdict::kInvalid,
                                            Verdict::kSkipped};

struct CheckHeadroom {
  std::string check;
  Headroom headroom;
};

struct SweepSummary {
  std::string name;
  std::array<std::int64_t, kAllVerdicts.size()> counts{};  // by verdict
  double seconds = 0.0;
  double cases_per_second = 0.0;        // of the cases that ran
  std::vector<CheckHeadroom> headroom;  // of the checks that compared something
  bool has_headroom = true;             // false: summary.json leaves it out

  std::int64_t count(Verdict verdict) const { return counts[static_cast<std::size_t>(verdict)]; }
  std::int64_t& count(Verdict verdict) { return counts[static_cast<std::size_t>(verdict)]; }
  std::int64_t total() const;
  // Failed, errored or timed out.
  std::int64_t num_bad() const;
};

// One line of JSON (architecture, section 7), and by check its headroom: {"p50":…,"p90":…,"p99":…,
// "max":…} of error / bound over the cases, null where not finite, or {"exact":true}.
std::string summary_to_json(const SweepSummary& summary);

}  // namespace lockstep::matrix
