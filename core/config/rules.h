// Which layouts can exist: rows of a condition that must hold and the reason told when it does not.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/config/case.h"

namespace lockstep {

struct Rule {
  std::string condition;  // an expression over the case's fields
  std::string reason;     // one sentence; {field} stands for the field's value
};

std::span<const Rule> rules();

// The reason why this layout cannot exist, none where it can.
std::optional<std::string> why_invalid(const Case& c);

// Worlds above this are an error of the spec.
inline constexpr std::int64_t kLargestWorld = 4096;

// UsageError where the world is larger than kLargestWorld or a product of sizes overflows.
void check_world(const Case& c);

}  // namespace lockstep
