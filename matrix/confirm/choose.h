// Which cases of a sweep to confirm, the most telling first: a plan without side effects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

struct LeftOut {
  std::string reason;
  std::int64_t num_cases = 0;
};

struct Choice {
  std::vector<std::size_t> chosen;  // of the results, by index
  std::size_t num_fit = 0;          // of which the limit took these
  std::vector<LeftOut> left_out;    // that do not fit, the commonest reason first
};

// Why the other backend cannot run a case; none where it can.
using WhyNot = std::function<std::optional<std::string>(const Case& c)>;

// Fit are cases that ran to a verdict: an error, such as a deadlock, must show again, too. Each
// next one is that which shows most values of fields, each with its verdict, that none before it
// showed; among equals the one of the smaller world, then by name. Those of one rank, which moves
// no data, come after all others.
Choice choose_cases(const std::vector<CaseResult>& results,
                    const WhyNot& why_not,
                    std::optional<std::size_t> limit);

}  // namespace lockstep::matrix
